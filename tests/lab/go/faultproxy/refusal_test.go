package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"
)

// A refused request gets the code and a Kubernetes Status with the reason that belongs to it, and the API server does
// not see it.
func TestRefusalIsAKubernetesStatus(t *testing.T) {
	l := newLab(t, func(http.ResponseWriter, *http.Request) { t.Error("the API server was asked") })
	for _, c := range []struct {
		method string
		code   int
		reason string
	}{
		{"GET", 403, "Forbidden"},
		{"PUT", 409, "Conflict"},
		{"POST", 409, "AlreadyExists"},
		{"GET", 410, "Expired"},
		{"PATCH", 422, "Invalid"},
		{"GET", 429, "TooManyRequests"},
		{"GET", 500, "InternalError"},
		{"GET", 502, "InternalError"},
		{"GET", 503, "ServiceUnavailable"},
		{"GET", 504, "Timeout"},
	} {
		l.put(t, fmt.Sprintf(`{"rules":[{"status":%d}]}`, c.code))
		got := l.do(t, c.method, "/pods", "")
		var s status
		got.decode(t, &s)
		want := status{
			Kind: "Status", APIVersion: "v1", Status: "Failure", Reason: c.reason, Code: c.code,
			Message: fmt.Sprintf("injected fault: %d %s", c.code, http.StatusText(c.code)),
		}
		if got.code != c.code || s != want {
			t.Errorf("%s %d: %d %s", c.method, c.code, got.code, got.body)
		}
		if kind := got.header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("%d: content type %q", c.code, kind)
		}
		if _, there := got.header["Retry-After"]; there {
			t.Errorf("%d: Retry-After was not asked for", c.code)
		}
	}
	l.expectCounts(t, countsJSON{Refused: 10})
}

// retry_after_seconds is in the header Retry-After, and in the details of the Status, where clients also look.
func TestTooManyRequestsWithRetryAfter(t *testing.T) {
	l := newLab(t, ok)
	l.put(t, `{"rules":[{"status":429,"retry_after_seconds":3}]}`)
	got := l.do(t, "GET", "/pods", "")
	var s status
	got.decode(t, &s)
	if got.code != 429 || got.header.Get("Retry-After") != "3" || s.Details == nil || s.Details.RetryAfterSeconds != 3 {
		t.Errorf("%d, Retry-After %q, %s", got.code, got.header.Get("Retry-After"), got.body)
	}
}

// With probability 0, the request is forwarded, after its delay.
func TestRequestThatEscapesRefusalIsDelayedAndForwarded(t *testing.T) {
	l, s := newLab(t, ok), &sleeps{}
	l.sleep = s.sleep
	l.put(t, `{"rules":[{"delay_ms":5,"status":503,"probability":0}]}`)
	if got := l.do(t, "GET", "/pods", ""); got.code != http.StatusOK || got.body != "GET /pods" {
		t.Errorf("%d %s", got.code, got.body)
	}
	s.expect(t, "escaped", 5*time.Millisecond)
	l.expectCounts(t, countsJSON{Forwarded: 1, Delayed: 1})
}

// A refusal also comes after the delay of its rule.
func TestRefusalIsDelayed(t *testing.T) {
	l, s := newLab(t, ok), &sleeps{}
	l.sleep = s.sleep
	l.put(t, `{"rules":[{"delay_ms":5,"status":503}]}`)
	if got := l.do(t, "GET", "/pods", ""); got.code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", got.code, got.body)
	}
	s.expect(t, "refused", 5*time.Millisecond)
	l.expectCounts(t, countsJSON{Refused: 1, Delayed: 1})
}

// The body of a refused request is read to its end, so an HTTP/1.1 client keeps its connection. The server itself would
// read only the first 256 KiB.
func TestRefusalDrainsTheBody(t *testing.T) {
	l := newLab(t, ok)
	l.client = newClient(t, false)
	l.put(t, `{"rules":[{"status":500}]}`)
	var reused []bool
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) { reused = append(reused, i.Reused) },
	})
	for range 2 {
		body := strings.NewReader(strings.Repeat("x", 4<<20))
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/pods", body)
		check(t, err)
		response, err := l.client.Do(request)
		check(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		check(t, err)
		check(t, response.Body.Close())
		if body.Len() > 0 || response.StatusCode != http.StatusInternalServerError {
			t.Errorf("%d with %d bytes unread", response.StatusCode, body.Len())
		}
	}
	if len(reused) != 2 || !reused[1] {
		t.Errorf("connections reused: %v", reused)
	}
}
