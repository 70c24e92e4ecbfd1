package main

import (
	"net/http"
	"testing"
	"time"
)

const throughProxy = "/api/v1/namespaces/a/services/head-svc:dashboard/proxy"

// The proxy itself answers for the dashboards, with what the operator expects of Ray.
func TestDashboardAnswers(t *testing.T) {
	l := newLab(t, func(http.ResponseWriter, *http.Request) { t.Error("the API server was asked") })
	running := `{"type":"SUBMISSION","job_id":"01000000","submission_id":"a-b","status":"RUNNING","entrypoint":"true",` +
		`"message":"","start_time":1000,"end_time":0,"metadata":{},"runtime_env":{}}`
	cases := []struct{ method, path, body, want string }{
		{"GET", "/api/jobs/", "", `[]`},
		{"GET", "/api/jobs", "", `[]`},
		{"GET", "/api/jobs/a-b", "", running},
		{"GET", "/api/jobs/a-b/", "", running},
		{"GET", "/api/jobs/a-b/logs", "", `{}`},
		{"POST", "/api/jobs/", `{"submission_id":"a-b","entrypoint":"x"}`, `{"job_id":"a-b","submission_id":"a-b"}`},
		{"POST", "/api/jobs/a-b/stop", "", `{"stopped":true}`},
		{"DELETE", "/api/jobs/a-b", "", `{"stopped":true}`},
		{"GET", "/api/serve/applications/?api_type=declarative", "", `{"applications":{}}`},
		{"PUT", "/api/serve/applications/", `{"applications":[]}`, `{}`},
		{"GET", "/api/version", "", `{}`},
		{"GET", "/", "", `{}`},
		{"GET", "", "", `{}`},
	}
	for _, c := range cases {
		got := l.do(t, c.method, throughProxy+c.path, c.body)
		if got.code != http.StatusOK || got.body != c.want || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, got.code, got.body, c.want)
		}
	}
	l.expectCounts(t, countsJSON{Dashboard: int64(len(cases))})
}

// A job that is not JSON is refused as a bad request.
func TestDashboardRefusesABrokenJob(t *testing.T) {
	l := newLab(t, ok)
	if got := l.do(t, "POST", throughProxy+"/api/jobs/", `{`); got.code != http.StatusBadRequest {
		t.Errorf("%d %s", got.code, got.body)
	}
}

// job_status and serve_applications are what the dashboards report; a job in a final status has ended.
func TestDashboardReportsWhatItIsTold(t *testing.T) {
	l := newLab(t, ok)
	l.put(t, `{"dashboard":{"job_status":"FAILED","serve_applications":{"applications":{"a":{"status":"RUNNING"}}}}}`)
	var job jobDetails
	l.do(t, "GET", throughProxy+"/api/jobs/x", "").decode(t, &job)
	if job.Status != "FAILED" || job.EndTime == 0 || job.SubmissionID != "x" {
		t.Errorf("%+v", job)
	}
	want := `{"applications":{"a":{"status":"RUNNING"}}}`
	if got := l.do(t, "GET", throughProxy+"/api/serve/applications/", ""); got.body != want {
		t.Errorf("%s, want %s", got.body, want)
	}
}

// Dashboards have their own delay and are not subject to the rules, which are about the API server.
func TestDashboardDelay(t *testing.T) {
	l, s := newLab(t, ok), &sleeps{}
	l.sleep = s.sleep
	l.put(t, `{"rules":[{"delay_ms":10,"status":500}],"dashboard":{"delay_ms":250}}`)
	if got := l.do(t, "GET", throughProxy+"/api/jobs/", ""); got.code != http.StatusOK {
		t.Errorf("%d %s", got.code, got.body)
	}
	s.expect(t, "dashboard", 250*time.Millisecond)
	l.expectCounts(t, countsJSON{Dashboard: 1})
}

// Services themselves, and the proxy for Pods, are the API server's.
func TestOnlyServiceProxiesAreDashboards(t *testing.T) {
	l := newLab(t, ok)
	for _, path := range []string{
		"/services/a", "/services/a/status", "/services/proxy", "/pods/a:8000/proxy/-/healthz", "/services/a/proxyx/b",
	} {
		if got := l.do(t, "GET", "/api/v1/namespaces/n"+path, ""); got.body != "GET /api/v1/namespaces/n"+path {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
	l.expectCounts(t, countsJSON{Forwarded: 5})
}
