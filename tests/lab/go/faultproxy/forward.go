package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// newForwarder sends requests on to the API server, as the owner of the token, and passes on what it answers as it
// comes.
func newForwarder(target *url.URL, token string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		Transport:     newTransport(),
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if !errors.Is(err, context.Canceled) {
				log.Printf("%s %s: %v", r.Method, r.URL.Path, err)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
}

func newTransport() *http.Transport {
	return &http.Transport{
		// The API server of a lab signs its own certificate; parseTarget sees to it that it is on this machine.
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		// As many as an operator with many workers keeps busy on HTTP/1.1, so that none is opened anew.
		MaxIdleConnsPerHost: 512,
		IdleConnTimeout:     90 * time.Second,
		// The client says whether it wants compression.
		DisableCompression: true,
	}
}
