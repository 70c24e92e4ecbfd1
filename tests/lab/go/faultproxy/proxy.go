package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// proxy handles the operator's requests.
type proxy struct {
	inForce atomic.Pointer[faults]
	counts  counts
	dice    *dice
	forward http.Handler
	sleep   func(context.Context, time.Duration) error
}

func newProxy(forward http.Handler, d *dice) *proxy {
	p := &proxy{dice: d, forward: forward, sleep: sleep}
	p.inForce.Store(noFaults())
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isWatch(r) {
		p.counts.watches.Add(1)
		p.forward.ServeHTTP(w, r)
		return
	}
	// Read once: a request is treated by one set of faults even if they are replaced while it is held.
	f := p.inForce.Load()
	if path, ok := dashboardPath(r.URL.Path); ok {
		p.counts.dashboard.Add(1)
		p.hold(r, milliseconds(f.Dashboard.DelayMS))
		f.Dashboard.serve(w, r, path)
		return
	}
	if rule := f.match(r.Method, r.URL.Path); rule != nil {
		delay, refused := p.dice.throw(rule)
		if delay > 0 {
			p.counts.delayed.Add(1)
			p.hold(r, delay)
		}
		if refused {
			p.counts.refused.Add(1)
			refuse(w, r, rule)
			return
		}
	}
	p.counts.forwarded.Add(1)
	p.forward.ServeHTTP(w, r)
}

// isWatch tells watches, which are never held or refused: an operator without them sees nothing.
func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return r.Method == http.MethodGet && (watch == "true" || watch == "1")
}
