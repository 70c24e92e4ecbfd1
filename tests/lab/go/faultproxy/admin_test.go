package main

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// GET /faults returns what is in force, defaults filled in: at the start, nothing.
func TestFaultsInForce(t *testing.T) {
	l := newLab(t, ok)
	get := func() string { return do(t, http.DefaultClient, "GET", l.admin.URL+"/faults", "").body }
	none := `{"rules":[],"dashboard":{"delay_ms":0,"job_status":"RUNNING","serve_applications":{"applications":{}}}}`
	if got := get(); got != none {
		t.Errorf("at the start: %s", got)
	}
	all := `{"rules":[{"methods":["GET"],"path":"/pods","delay_ms":1.5,"jitter_ms":2,"status":429,"probability":0.25,` +
		`"retry_after_seconds":1}],"dashboard":{"delay_ms":3,"job_status":"FAILED","serve_applications":{"a":1}}}`
	l.put(t, all)
	if got := get(); got != all {
		t.Errorf("all fields: %s", got)
	}
	l.put(t, `{"rules":[{}],"dashboard":{"serve_applications":null}}`)
	empty := `{"methods":[],"path":"","delay_ms":0,"jitter_ms":0,"status":0,"probability":1,"retry_after_seconds":0}`
	if got := get(); got != strings.Replace(none, "[]", "["+empty+"]", 1) {
		t.Errorf("no fields: %s", got)
	}
	l.put(t, `{}`)
	if got := get(); got != none {
		t.Errorf("a document replaces all of the one before: %s", got)
	}
}

// A document with a mistake is answered with 400 and the place of the mistake, and the old faults stay in force.
func TestMistakesKeepOldFaults(t *testing.T) {
	l := newLab(t, ok)
	l.put(t, `{"rules":[{"status":418}]}`)
	for _, c := range []struct{ document, message string }{
		{``, "the body is empty"},
		{`{"rules":`, "unexpected EOF"},
		{`[]`, "cannot unmarshal array"},
		{`{} {}`, "there is more after the JSON document"},
		{`{"rule":[]}`, `unknown field "rule"`},
		{`{"rules":[{"prob":1}]}`, `unknown field "prob"`},
		{`{"dashboard":{"delay":1}}`, `unknown field "delay"`},
		{`{"rules":[{},{"path":"("}]}`, "rules[1].path: error parsing regexp"},
		{`{"rules":[{"methods":["get"]}]}`, `rules[0].methods: "get" is not one of`},
		{`{"rules":[{"delay_ms":-1}]}`, "rules[0].delay_ms: -1 is not from 0 to 3600000"},
		{`{"rules":[{"delay_ms":1e300}]}`, "rules[0].delay_ms: 1e+300 is not from 0 to 3600000"},
		{`{"rules":[{"jitter_ms":-0.5}]}`, "rules[0].jitter_ms: -0.5 is not from 0"},
		{`{"rules":[{"status":-500}]}`, "rules[0].status: -500 is neither 0 nor from 400 to 599"},
		{`{"rules":[{"status":200}]}`, "rules[0].status: 200 is neither"},
		{`{"rules":[{"status":600}]}`, "rules[0].status: 600 is neither"},
		{`{"rules":[{"probability":1.5}]}`, "rules[0].probability: 1.5 is not from 0 to 1"},
		{`{"rules":[{"probability":-0.1}]}`, "rules[0].probability: -0.1 is not from 0 to 1"},
		{`{"rules":[{"retry_after_seconds":-1}]}`, "rules[0].retry_after_seconds: -1 is not from 0 to 3600"},
		{`{"rules":[{"retry_after_seconds":1.5}]}`, "retry_after_seconds"},
		{`{"dashboard":{"delay_ms":-1}}`, "dashboard.delay_ms: -1 is not from 0 to 3600000"},
		{`{"dashboard":{"serve_applications":"x"}}`, `dashboard.serve_applications: "x" is not a JSON object`},
		{`{"rules":[{"path":"` + strings.Repeat("x", largestFaults) + `"}]}`, "too large"},
	} {
		got := do(t, http.DefaultClient, "PUT", l.admin.URL+"/faults", c.document)
		if got.code != http.StatusBadRequest || !strings.Contains(got.body, c.message) {
			t.Errorf("%.60s: %d %q, want 400 %q", c.document, got.code, got.body, c.message)
		}
		if got := l.do(t, "GET", "/pods", ""); got.code != http.StatusTeapot {
			t.Errorf("%.60s: the old faults are gone", c.document)
		}
	}
}

// A request sees one document or the other, never part of each, while they are replaced.
func TestFaultsAreReplacedAtOnce(t *testing.T) {
	l := newLab(t, ok)
	document := func(code, seconds int) string {
		rule := fmt.Sprintf(`{"status":%d,"retry_after_seconds":%d}`, code, seconds)
		return `{"rules":[` + rule + `]}`
	}
	both := []*faults{parsed(t, document(429, 1)), parsed(t, document(503, 2))}
	l.inForce.Store(both[0])
	enough := make(chan struct{})
	var replacing sync.WaitGroup
	replacing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-enough:
				return
			default:
				l.inForce.Store(both[i%2])
				runtime.Gosched()
			}
		}
	})
	for range 100 {
		got := l.do(t, "GET", "/pods", "")
		if seen := fmt.Sprintf("%d %s", got.code, got.header.Get("Retry-After")); seen != "429 1" && seen != "503 2" {
			t.Errorf("a mixture: %s", seen)
		}
	}
	close(enough)
	replacing.Wait()
}

// GET /counts counts since the start, also across new faults; GET /healthz answers once the proxy serves.
func TestCountsAndHealth(t *testing.T) {
	l := newLab(t, ok)
	l.sleep = (&sleeps{}).sleep
	l.expectCounts(t, countsJSON{})
	l.do(t, "GET", "/pods", "")
	l.do(t, "GET", "/pods?watch=true", "")
	l.put(t, `{"rules":[{"methods":["PUT"],"delay_ms":1},{"methods":["POST"],"status":500}]}`)
	l.do(t, "PUT", "/pods", "")
	l.do(t, "POST", "/pods", "")
	l.do(t, "GET", throughProxy+"/api/jobs/", "")
	l.expectCounts(t, countsJSON{Forwarded: 2, Refused: 1, Dashboard: 1, Watches: 1, Delayed: 1})
	raw := do(t, http.DefaultClient, "GET", l.admin.URL+"/counts", "").body
	if raw != `{"forwarded":2,"refused":1,"dashboard":1,"watches":1,"delayed":1}` {
		t.Error(raw)
	}
	if got := do(t, http.DefaultClient, "GET", l.admin.URL+"/healthz", ""); got.code != http.StatusOK || got.body != "ok" {
		t.Errorf("%d %s", got.code, got.body)
	}
}

// Other methods and paths are not there.
func TestAdminOffersNothingElse(t *testing.T) {
	l := newLab(t, ok)
	codes := map[string]int{"POST /faults": 405, "DELETE /faults": 405, "PUT /counts": 405, "GET /": 404}
	for request, code := range codes {
		method, path, _ := strings.Cut(request, " ")
		if got := do(t, http.DefaultClient, method, l.admin.URL+path, "{}"); got.code != code {
			t.Errorf("%s: %d, want %d", request, got.code, code)
		}
	}
}
