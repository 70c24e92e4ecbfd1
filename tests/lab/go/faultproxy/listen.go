package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// headerTimeout bounds how long a connection may take to send a request's header.
const headerTimeout = 10 * time.Second

// listenLoopback refuses other interfaces: who reaches the proxy has the rights of its token.
func listenLoopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !isLoopback(host) {
		return nil, fmt.Errorf("%q is not on loopback", address)
	}
	return net.Listen("tcp", address)
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// newTLSServer has no timeout for whole requests: a watch lasts for many minutes.
func newTLSServer(h http.Handler, certificate tls.Certificate) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			NextProtos:   []string{"h2", "http/1.1"},
		},
	}
}
