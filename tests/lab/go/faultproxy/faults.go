package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"
)

// faults is what the proxy does to requests, as PUT /faults gives it. It is not changed once it is in force, only
// replaced.
type faults struct {
	Rules     []rule    `json:"rules"`
	Dashboard dashboard `json:"dashboard"`
}

// rule is what happens to the requests that it matches.
type rule struct {
	Methods           []string `json:"methods"` // empty: all
	Path              string   `json:"path"`    // regular expression, found anywhere in the path
	DelayMS           float64  `json:"delay_ms"`
	JitterMS          float64  `json:"jitter_ms"` // mean of an exponential on top of the delay
	Status            int      `json:"status"`    // 0: forward
	Probability       *float64 `json:"probability"`
	RetryAfterSeconds int      `json:"retry_after_seconds"` // 0: no header

	path *regexp.Regexp
}

// parseFaults reads one JSON document, fills in defaults and checks it. A misspelt field must not pass for a fault that
// does nothing.
func parseFaults(r io.Reader) (*faults, error) {
	f := &faults{}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(f); errors.Is(err, io.EOF) {
		return nil, errors.New("the body is empty")
	} else if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON document")
	}
	if f.Rules == nil {
		f.Rules = []rule{}
	}
	for i := range f.Rules {
		if err := f.Rules[i].complete(); err != nil {
			return nil, fmt.Errorf("rules[%d].%w", i, err)
		}
	}
	if err := f.Dashboard.complete(); err != nil {
		return nil, fmt.Errorf("dashboard.%w", err)
	}
	return f, nil
}

// noFaults is in force until the first PUT /faults.
func noFaults() *faults {
	f := &faults{Rules: []rule{}}
	f.Dashboard.setDefaults()
	return f
}

// match returns the first rule for a request, or nil.
func (f *faults) match(method, path string) *rule {
	for i := range f.Rules {
		r := &f.Rules[i]
		if (len(r.Methods) == 0 || slices.Contains(r.Methods, method)) && r.path.MatchString(path) {
			return r
		}
	}
	return nil
}

// milliseconds turns a checked number of milliseconds into a duration.
func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
