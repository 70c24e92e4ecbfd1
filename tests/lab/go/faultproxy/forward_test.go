package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The API server sees the proxy's token in place of what the client sent, also if the client sent none.
func TestTokenReplacesTheClients(t *testing.T) {
	l := newLab(t, func(w http.ResponseWriter, r *http.Request) {
		for _, value := range r.Header.Values("Authorization") {
			_, _ = io.WriteString(w, value+";")
		}
	})
	for _, own := range []string{"", "Bearer of-the-client"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.url+"/pods", nil)
		check(t, err)
		if own != "" {
			request.Header.Set("Authorization", own)
		}
		response, err := l.client.Do(request)
		check(t, err)
		body, err := io.ReadAll(response.Body)
		check(t, err)
		check(t, response.Body.Close())
		if string(body) != "Bearer the-token;" {
			t.Errorf("client sent %q, API server got %q", own, body)
		}
	}
}

// The TLS listener speaks HTTP/2 and HTTP/1.1, and either reaches the API server over HTTP/2.
func TestListenerSpeaksBothVersionsOfHTTP(t *testing.T) {
	l := newLab(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	for version, client := range map[int]*http.Client{2: newClient(t, true), 1: newClient(t, false)} {
		got := do(t, client, http.MethodGet, l.url+"/version", "")
		if got.proto != version || got.body != "HTTP/2.0" {
			t.Errorf("client: HTTP/%d, want %d; API server: %s", got.proto, version, got.body)
		}
	}
}

// Path, query, body and the answer's code and headers pass unchanged.
func TestForwardingChangesNothingElse(t *testing.T) {
	l := newLab(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Audit-Id", "1")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.EscapedPath()+"?"+r.URL.RawQuery+" "+r.Header.Get("Accept-Encoding"))
		_, _ = io.Copy(w, r.Body)
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch,
		l.url+"/apis/ray.io/v1/namespaces/a%2Fb/rayclusters?labelSelector=a%3Db%2Cc&limit=5", http.NoBody)
	check(t, err)
	l.client.Transport.(*http.Transport).DisableCompression = true // so that Accept-Encoding is not there
	response, err := l.client.Do(request)
	check(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(t, err)
	want := "PATCH /apis/ray.io/v1/namespaces/a%2Fb/rayclusters?labelSelector=a%3Db%2Cc&limit=5 "
	if string(body) != want || response.StatusCode != http.StatusCreated || response.Header.Get("Audit-Id") != "1" {
		t.Errorf("%d %v %q, want %q", response.StatusCode, response.Header, body, want)
	}
	if got := l.do(t, "POST", "/pods", "the body"); got.body != "POST /pods? the body" {
		t.Errorf("%q", got.body)
	}
}

// An API server that cannot be reached is a 502.
func TestUnreachableAPIServer(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	l := newLabFor(t, gone.URL)
	if got := l.do(t, "GET", "/pods", ""); got.code != http.StatusBadGateway {
		t.Errorf("%d", got.code)
	}
}

// The events of a watch arrive one by one while the watch goes on, and no rule holds or refuses it. That holds also for
// an answer whose length is known, which a reverse proxy gathers unless told otherwise.
func TestWatchStreamsUnbufferedAndUndelayed(t *testing.T) {
	for query, length := range map[string]string{"watch=true": "", "watch=1": "13", "limit=5&watch=true&x=%3B": ""} {
		t.Run(query, func(t *testing.T) {
			seen := make(chan struct{})
			l := newLab(t, func(w http.ResponseWriter, r *http.Request) {
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				_, _ = io.WriteString(w, "first\n")
				w.(http.Flusher).Flush()
				<-seen // the answer goes on only after the client has its first line
				_, _ = io.WriteString(w, "second\n")
			})
			s := &sleeps{}
			l.sleep = s.sleep
			l.put(t, `{"rules":[{"delay_ms":3600000,"status":500}]}`)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.url+"/pods?"+query, nil)
			check(t, err)
			response, err := l.client.Do(request)
			check(t, err)
			defer response.Body.Close()
			lines := bufio.NewScanner(response.Body)
			if !lines.Scan() || lines.Text() != "first" {
				t.Fatalf("%d %q", response.StatusCode, lines.Text())
			}
			close(seen)
			if !lines.Scan() || lines.Text() != "second" || lines.Scan() {
				t.Errorf("%q, %v", lines.Text(), lines.Err())
			}
			s.expect(t, query)
			l.expectCounts(t, countsJSON{Watches: 1})
		})
	}
}

// What only looks like a watch is subject to the rules.
func TestOnlyWatchesPass(t *testing.T) {
	l := newLab(t, ok)
	l.put(t, `{"rules":[{"status":500}]}`)
	for _, path := range []string{
		"/pods?watch=false", "/pods?watch=0", "/pods?watch=10", "/pods?nowatch=true", "/pods?x=%26watch=true", "/watch=true",
	} {
		if got := l.do(t, "GET", path, ""); got.code != http.StatusInternalServerError {
			t.Errorf("%s: %d", path, got.code)
		}
	}
	if got := l.do(t, "POST", "/pods?watch=true", ""); got.code != http.StatusInternalServerError {
		t.Errorf("POST: %d", got.code)
	}
	l.expectCounts(t, countsJSON{Refused: 7})
}
