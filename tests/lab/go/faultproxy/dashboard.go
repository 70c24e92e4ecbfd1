package main

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// dashboard is how the Ray dashboards answer, which the operator asks through the API server's proxy for services.
type dashboard struct {
	DelayMS           float64         `json:"delay_ms"`
	JobStatus         string          `json:"job_status"`
	ServeApplications json.RawMessage `json:"serve_applications"` // the whole answer
}

var throughService = regexp.MustCompile(`/services/[^/]+/proxy(/.*)?$`)

// dashboardPath returns the path on the dashboard, and whether the request is for one.
func dashboardPath(path string) (string, bool) {
	found := throughService.FindStringSubmatch(path)
	if found == nil {
		return "", false
	}
	return found[1], true
}

func (d *dashboard) serve(w http.ResponseWriter, r *http.Request, path string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// Paths count with or without a slash at the end.
	path = strings.TrimSuffix(path, "/") + "/"
	if path == "/api/serve/applications/" && r.Method == http.MethodGet {
		writeJSON(w, http.StatusOK, d.ServeApplications)
		return
	}
	job, ok := strings.CutPrefix(path, "/api/jobs/")
	if !ok {
		writeJSON(w, http.StatusOK, struct{}{})
		return
	}
	code, answer := d.job(r.Method, strings.TrimSuffix(job, "/"), body)
	writeJSON(w, code, answer)
}

// job answers for /api/jobs/<rest>.
func (d *dashboard) job(method, rest string, body []byte) (int, any) {
	id, action, _ := strings.Cut(rest, "/")
	switch {
	case method == http.MethodGet && id == "":
		return http.StatusOK, []string{}
	case method == http.MethodGet && action == "":
		return http.StatusOK, newJobDetails(id, d.JobStatus)
	case method == http.MethodPost && id == "":
		return submit(body)
	case method == http.MethodPost && action == "stop", method == http.MethodDelete && id != "":
		return http.StatusOK, map[string]bool{"stopped": true}
	}
	return http.StatusOK, struct{}{}
}

// submit accepts a job and returns the id that the client gave it.
func submit(body []byte) (int, any) {
	var job struct {
		ID string `json:"submission_id"`
	}
	if err := json.Unmarshal(body, &job); err != nil {
		return http.StatusBadRequest, map[string]string{"error": err.Error()}
	}
	return http.StatusOK, map[string]string{"job_id": job.ID, "submission_id": job.ID}
}
