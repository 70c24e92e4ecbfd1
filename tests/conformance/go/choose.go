package conformance

import (
	"math/rand"
	"time"
)

// chooser draws the operations of one sequence.
type chooser struct {
	profile profile
	kind    string
	rand    *rand.Rand
	keys    int // distinct keys of this sequence
}

func newChooser(kind string, p profile, seed int64) *chooser {
	r := rand.New(rand.NewSource(seed))
	return &chooser{profile: p, kind: kind, rand: r, keys: p.keys.pick(r)}
}

func (c *chooser) chance(percentage int) bool { return c.rand.Intn(100) < percentage }

func (c *chooser) key() string { return "k" + itoa(int64(c.rand.Intn(c.keys))) }

// next draws an operation that makes sense now: done needs a key that is held, and get room for one more getter. What
// makes no sense becomes a sleep.
func (c *chooser) next(w *workers) operation {
	mix := c.profile.mix
	x := c.rand.Intn(mix.total())
	if x < mix.add {
		return c.add()
	}
	if x -= mix.add; x < mix.get && w.waiting < c.profile.waiters {
		return operation{Op: opGet}
	}
	if x -= mix.get; x >= 0 && x < mix.done && len(w.held) > 0 {
		return c.done(w)
	}
	if x -= mix.done; x >= 0 && x < mix.forget {
		return operation{Op: opForget, Keys: []string{c.key()}}
	}
	if x -= mix.forget; x >= 0 && x < mix.ask {
		return operation{Op: opNumRequeues, Keys: []string{c.key()}}
	}
	return operation{Op: opSleep, SleepNS: int64(c.profile.sleep(c.rand))}
}

// done gives any held key back.
func (c *chooser) done(w *workers) operation {
	return operation{Op: opDone, Keys: []string{w.release(c.rand.Intn(len(w.held)))}}
}

// add draws an add. Keys may repeat within a call.
func (c *chooser) add() operation {
	p, o := c.profile, operation{Op: opAdd}
	for range p.batch.pick(c.rand) {
		o.Keys = append(o.Keys, c.key())
	}
	if c.chance(p.delayed) {
		o.AfterNS = int64(p.delay(c.rand))
	}
	o.Limited = c.chance(p.limited)
	if c.chance(p.prioritised) {
		priority := p.priorities[c.rand.Intn(len(p.priorities))]
		if c.kind == kindPriority { // drawn for both, so that the sequences stay alike
			o.Priority = &priority
		}
	}
	if p.odd {
		c.makeOdd(&o)
	}
	return o
}

// makeOdd turns some adds into ones that controllers do not make but the interface allows.
func (c *chooser) makeOdd(o *operation) {
	switch c.rand.Intn(4) {
	case 0: // no delay, or a negative one
		o.AfterNS = -int64(c.rand.Intn(2)) * int64(time.Second)
	case 1: // one key, added by add_after, which knows neither limiter nor priority
		*o = operation{Op: opAddAfter, Keys: o.Keys[:1], AfterNS: o.AfterNS}
		if c.chance(40) {
			o.AfterNS = -int64(c.rand.Intn(2)) * int64(time.Second)
		}
	}
}
