package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"
)

// longest bounds every wait. It is far above what a client waits for, and far below where a duration overflows.
const longest = time.Hour

// methods are those that a rule may name. Another one would never match.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodConnect, http.MethodOptions, http.MethodTrace,
}

// complete checks a rule, compiles its path and fills in its defaults.
func (r *rule) complete() (err error) {
	if r.Methods == nil {
		r.Methods = []string{}
	}
	for _, m := range r.Methods {
		if !slices.Contains(methods, m) {
			return fmt.Errorf("methods: %q is not one of %v", m, methods)
		}
	}
	if r.path, err = regexp.Compile(r.Path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if r.Status != 0 && (r.Status < 400 || r.Status > 599) {
		return fmt.Errorf("status: %d is neither 0 nor from 400 to 599", r.Status)
	}
	if r.Probability == nil {
		r.Probability = new(1.0)
	}
	if err := within("probability", *r.Probability, 1); err != nil {
		return err
	}
	if err := within("retry_after_seconds", float64(r.RetryAfterSeconds), longest.Seconds()); err != nil {
		return err
	}
	if err := within("delay_ms", r.DelayMS, float64(longest.Milliseconds())); err != nil {
		return err
	}
	return within("jitter_ms", r.JitterMS, float64(longest.Milliseconds()))
}

// complete checks the dashboards' settings and fills in their defaults.
func (d *dashboard) complete() error {
	d.setDefaults()
	if !json.Valid(d.ServeApplications) || !bytes.HasPrefix(d.ServeApplications, []byte("{")) {
		return fmt.Errorf("serve_applications: %s is not a JSON object", d.ServeApplications)
	}
	return within("delay_ms", d.DelayMS, float64(longest.Milliseconds()))
}

func (d *dashboard) setDefaults() {
	if d.JobStatus == "" {
		d.JobStatus = "RUNNING"
	}
	if len(d.ServeApplications) == 0 || string(d.ServeApplications) == "null" {
		d.ServeApplications = json.RawMessage(`{"applications":{}}`)
	}
}

func within(field string, value, most float64) error {
	if value < 0 || value > most {
		return fmt.Errorf("%s: %v is not from 0 to %.0f", field, value, most)
	}
	return nil
}
