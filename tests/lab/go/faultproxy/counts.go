package main

import "sync/atomic"

// counts is what became of requests since the start. Forwarded, refused, dashboard and watches do not overlap; a
// request whose client leaves while a rule holds it is only among the delayed.
type counts struct{ forwarded, refused, dashboard, watches, delayed atomic.Int64 }

// countsJSON is one reading of counts.
type countsJSON struct {
	Forwarded int64 `json:"forwarded"`
	Refused   int64 `json:"refused"`
	Dashboard int64 `json:"dashboard"`
	Watches   int64 `json:"watches"`
	Delayed   int64 `json:"delayed"`
}

func (c *counts) read() countsJSON {
	return countsJSON{
		Forwarded: c.forwarded.Load(),
		Refused:   c.refused.Load(),
		Dashboard: c.dashboard.Load(),
		Watches:   c.watches.Load(),
		Delayed:   c.delayed.Load(),
	}
}
