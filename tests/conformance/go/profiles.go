package conformance

import (
	"math/rand"
	"time"
)

// between is an inclusive range of counts.
type between struct{ low, high int }

func (b between) pick(r *rand.Rand) int { return b.low + r.Intn(b.high-b.low+1) }

// span draws a duration.
type span func(r *rand.Rand) time.Duration

// steps draws 1 to n times the unit.
func steps(unit time.Duration, n int) span {
	return func(r *rand.Rand) time.Duration { return time.Duration(1+r.Intn(n)) * unit }
}

// spread draws from low to low*2^doublings, each doubling as likely as the other. It does without floating point, so
// that a seed means the same everywhere, and in 64 steps per doubling, so that traces compress well.
func spread(low time.Duration, doublings int) span {
	return func(r *rand.Rand) time.Duration {
		base := int64(low) << r.Intn(doublings)
		return time.Duration(base + base/64*r.Int63n(64))
	}
}

// chances of each operation, by weight.
type chances struct{ add, get, done, forget, ask, sleep int }

func (c chances) total() int { return c.add + c.get + c.done + c.forget + c.ask + c.sleep }

// usual is the mix of operations most profiles take.
var usual = chances{add: 45, get: 20, done: 20, forget: 3, ask: 2, sleep: 10}

// profile is a kind of sequence.
type profile struct {
	name string
	// How many sequences of it are played on each queue.
	priority, classic int

	ops     between // operations, before a drain
	keys    between // distinct keys
	batch   between // keys per add
	waiters int     // getters that may wait at once
	mix     chances

	delayed int  // percentage of adds with a delay
	delay   span // its length
	limited int  // percentage of adds that are rate limited
	sleep   span // how long a sleep lasts

	prioritised int   // percentage of adds with a priority
	priorities  []int // one of these

	odd      bool // some delays are not positive, some adds go through add_after
	shutDown bool // the queue is shut down somewhere in the second half
	drain    bool // at the end everything that is ready is got and done
}

// fromTo lists the whole numbers from low to high.
func fromTo(low, high int) []int {
	var all []int
	for n := low; n <= high; n++ {
		all = append(all, n)
	}
	return all
}

// fewPriorities has the two that controller-runtime itself uses, and some more.
var fewPriorities = []int{-100, 0, 0, 5, 10}

// profiles are all kinds of sequences, in the order in which they are written.
var profiles = []profile{
	{
		name: "small", priority: 300, classic: 200,
		ops: between{15, 50}, keys: between{2, 13}, batch: between{1, 3}, waiters: 6, mix: usual,
		delayed: 33, delay: steps(time.Millisecond, 5000), limited: 20, sleep: steps(time.Millisecond, 3000),
		prioritised: 50, priorities: fewPriorities,
	},
	{
		name: "one-worker", priority: 200, classic: 130,
		ops: between{25, 50}, keys: between{3, 20}, batch: between{1, 2}, waiters: 1,
		mix:     chances{add: 40, get: 25, done: 22, forget: 3, sleep: 10},
		delayed: 30, delay: spread(time.Millisecond, 12), limited: 10, sleep: spread(time.Millisecond, 11),
		prioritised: 60, priorities: fewPriorities, drain: true,
	},
	{
		name: "many-keys", priority: 14, classic: 12,
		ops: between{40, 70}, keys: between{150, 500}, batch: between{1, 40}, waiters: 1,
		mix:     chances{add: 25, get: 35, done: 30, forget: 1, sleep: 9},
		delayed: 20, delay: spread(100*time.Millisecond, 8), limited: 5, sleep: spread(10*time.Millisecond, 9),
		prioritised: 50, priorities: fewPriorities, drain: true,
	},
	{
		name: "long-delays", priority: 150, classic: 110,
		ops: between{15, 50}, keys: between{2, 12}, batch: between{1, 2}, waiters: 3, mix: usual,
		delayed: 80, delay: spread(time.Second, 13), limited: 5, sleep: spread(time.Second, 11),
		prioritised: 40, priorities: fewPriorities,
	},
	{
		name: "same-instant", priority: 150, classic: 160,
		ops: between{25, 60}, keys: between{4, 16}, batch: between{1, 5}, waiters: 4, mix: usual,
		delayed: 70, delay: steps(time.Second, 6), limited: 0, sleep: steps(time.Second, 2),
		prioritised: 30, priorities: fewPriorities,
	},
	{
		name: "many-priorities", priority: 80,
		ops: between{60, 90}, keys: between{15, 45}, batch: between{1, 2}, waiters: 2,
		mix:     chances{add: 55, get: 18, done: 16, forget: 1, sleep: 10},
		delayed: 15, delay: spread(10*time.Millisecond, 8), limited: 5, sleep: spread(10*time.Millisecond, 7),
		prioritised: 95, priorities: fromTo(-30, 30), drain: true,
	},
	{
		name: "retry-storm", priority: 150, classic: 130,
		ops: between{25, 70}, keys: between{1, 6}, batch: between{1, 3}, waiters: 4,
		mix:     chances{add: 40, get: 20, done: 20, forget: 1, ask: 5, sleep: 14},
		delayed: 10, delay: spread(10*time.Millisecond, 12), limited: 85, sleep: spread(5*time.Millisecond, 17),
		prioritised: 20, priorities: fewPriorities,
	},
	{
		name: "retry-flood", priority: 12, classic: 24,
		ops: between{20, 45}, keys: between{40, 200}, batch: between{10, 40}, waiters: 1,
		mix:     chances{add: 35, get: 20, done: 20, forget: 2, ask: 3, sleep: 20},
		delayed: 5, delay: spread(100*time.Millisecond, 8), limited: 85, sleep: spread(50*time.Millisecond, 9),
		prioritised: 10, priorities: fewPriorities,
	},
	{
		name: "many-at-once", priority: 126, classic: 76,
		ops: between{15, 40}, keys: between{5, 25}, batch: between{2, 15}, waiters: 5, mix: usual,
		delayed: 40, delay: spread(time.Millisecond, 12), limited: 25, sleep: spread(time.Millisecond, 11),
		prioritised: 50, priorities: fewPriorities,
	},
	{
		name: "odd-delays", priority: 130, classic: 90,
		ops: between{15, 55}, keys: between{2, 10}, batch: between{1, 3}, waiters: 3, mix: usual,
		delayed: 70, delay: spread(time.Millisecond, 12), limited: 40, sleep: spread(time.Millisecond, 11),
		prioritised: 50, priorities: fewPriorities, odd: true,
	},
	{
		name: "shut-down", priority: 190, classic: 140,
		ops: between{15, 50}, keys: between{2, 12}, batch: between{1, 3}, waiters: 5, mix: usual,
		delayed: 30, delay: spread(time.Millisecond, 12), limited: 20, sleep: spread(time.Millisecond, 11),
		prioritised: 50, priorities: fewPriorities, shutDown: true,
	},
}

// count says how many sequences of the profile are played on a kind of queue.
func (p profile) count(kind string) int {
	if kind == kindClassic {
		return p.classic
	}
	return p.priority
}
