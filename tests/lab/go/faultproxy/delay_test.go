package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A rule holds the requests with one of its methods whose path its expression is found in, and no others.
func TestDelayByMethodAndPath(t *testing.T) {
	l, s := newLab(t, ok), &sleeps{}
	l.sleep = s.sleep
	l.put(t, `{"rules":[{"methods":["POST","PUT"],"path":"/pods(/|$)","delay_ms":1500}]}`)
	for _, c := range []struct {
		method, path string
		held         []time.Duration
	}{
		{"POST", "/api/v1/namespaces/a/pods", []time.Duration{1500 * time.Millisecond}},
		{"PUT", "/api/v1/namespaces/a/pods/b/status", []time.Duration{1500 * time.Millisecond}},
		{"GET", "/api/v1/namespaces/a/pods", nil},
		{"POST", "/api/v1/namespaces/a/services", nil},
		{"POST", "/api/v1/namespaces/a/podsets", nil},
		{"POST", "/api/v1/namespaces/a/services?x=/pods", nil}, // the query is not the path
	} {
		got := l.do(t, c.method, c.path, "")
		path, _, _ := strings.Cut(c.path, "?")
		if got.code != http.StatusOK || got.body != c.method+" "+path {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.code, got.body)
		}
		s.expect(t, c.method+" "+c.path, c.held...)
	}
	l.expectCounts(t, countsJSON{Forwarded: 6, Delayed: 2})
}

// A rule without methods and path is for every request.
func TestEmptyRuleMatchesEverything(t *testing.T) {
	l, s := newLab(t, ok), &sleeps{}
	l.sleep = s.sleep
	l.put(t, `{"rules":[{"delay_ms":7}]}`)
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		l.do(t, method, "/any", "")
		s.expect(t, method, 7*time.Millisecond)
	}
}

// The first rule that matches decides; later ones do nothing, also where the first one only forwards.
func TestFirstMatchingRuleWins(t *testing.T) {
	l, s := newLab(t, ok), &sleeps{}
	l.sleep = s.sleep
	l.put(t, `{"rules":[
		{"path":"/leases/"},
		{"methods":["PUT"],"delay_ms":10},
		{"methods":["PUT","PATCH"],"delay_ms":20,"status":500}]}`)
	if got := l.do(t, "PUT", "/leases/a", ""); got.code != http.StatusOK {
		t.Errorf("first rule: %d", got.code)
	}
	s.expect(t, "first rule")
	if got := l.do(t, "PUT", "/pods/a", ""); got.code != http.StatusOK {
		t.Errorf("second rule: %d", got.code)
	}
	s.expect(t, "second rule", 10*time.Millisecond)
	if got := l.do(t, "PATCH", "/pods/a", ""); got.code != http.StatusInternalServerError {
		t.Errorf("third rule: %d", got.code)
	}
	s.expect(t, "third rule", 20*time.Millisecond)
	l.do(t, "GET", "/pods/a", "")
	s.expect(t, "no rule")
}

// Without a stand-in for the clock, a delayed request takes at least as long as the rule says.
func TestDelayIsReal(t *testing.T) {
	l := newLab(t, ok)
	l.put(t, `{"rules":[{"delay_ms":50}]}`)
	start := time.Now()
	l.do(t, "GET", "/pods", "")
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Errorf("took only %v", took)
	}
}

// The API server gets the whole body of a request that was held.
func TestHeldRequestKeepsItsBody(t *testing.T) {
	l := newLab(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	l.sleep = (&sleeps{}).sleep
	l.put(t, `{"rules":[{"delay_ms":1}]}`)
	body := strings.Repeat("body ", 100_000) + "end"
	if got := l.do(t, "POST", "/pods", body); got.body != body {
		t.Errorf("%d of %d bytes came back", len(got.body), len(body))
	}
}

// When the client goes away, the delay ends and the request is neither forwarded nor refused: on both versions of HTTP,
// with and without a body, for rules and for dashboards.
func TestDelayEndsWithTheClient(t *testing.T) {
	for _, c := range []struct {
		name, method, path, body string
		http2                    bool
		counts                   countsJSON
	}{
		{"HTTP/2", "GET", "/pods", "", true, countsJSON{Delayed: 1}},
		{"HTTP/2 with body", "POST", "/pods", "{}", true, countsJSON{Delayed: 1}},
		{"HTTP/1.1", "GET", "/pods", "", false, countsJSON{Delayed: 1}},
		{"HTTP/1.1 with body", "POST", "/pods", "{}", false, countsJSON{Delayed: 1}},
		{"dashboard", "GET", "/services/a/proxy/api/jobs/", "", true, countsJSON{Dashboard: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, ok)
			started, ended := make(chan struct{}), make(chan error, 1)
			l.sleep = func(ctx context.Context, d time.Duration) error {
				close(started)
				err := sleep(ctx, d)
				ended <- err
				return err
			}
			l.put(t, `{"rules":[{"delay_ms":3600000,"status":500}],"dashboard":{"delay_ms":3600000}}`)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			go func() {
				<-started
				leave()
			}()
			request, err := http.NewRequestWithContext(ctx, c.method, l.url+c.path, strings.NewReader(c.body))
			check(t, err)
			if _, err := newClient(t, c.http2).Do(request); !errors.Is(err, context.Canceled) {
				t.Errorf("the client got %v", err)
			}
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the delay ended with %v", err)
			}
			l.pending.Wait()
			l.expectCounts(t, c.counts)
		})
	}
}
