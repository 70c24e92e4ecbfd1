package main

import (
	"math/rand/v2"
	"sync"
	"time"
)

// dice decides what is left to chance. Requests share it, so runs with one seed repeat only as far as requests that
// match a rule arrive in the same order.
type dice struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{rand: rand.New(rand.NewPCG(seed, 0))} }

// throw returns how long a rule holds one request, and whether it refuses it. It draws two numbers whatever the rule
// says, so that another rule does not change what later requests draw.
func (d *dice) throw(r *rule) (delay time.Duration, refuse bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	jitter, chance := d.rand.ExpFloat64(), d.rand.Float64()
	return milliseconds(r.DelayMS + jitter*r.JitterMS), r.Status != 0 && chance < *r.Probability
}
