package main

import (
	"fmt"
	"testing"
	"time"
)

const draws = 2000

// throws draws many times with one seed, and returns how many requests were refused and how long each was held.
func throws(t *testing.T, seed uint64, rule string) (refused int, held []time.Duration) {
	t.Helper()
	d, f := newDice(seed), parsed(t, `{"rules":[`+rule+`]}`)
	for range draws {
		delay, refuse := d.throw(f.match("GET", "/"))
		if refuse {
			refused++
		}
		held = append(held, delay)
	}
	return refused, held
}

// The share of refused requests is the probability; without one, every request is refused.
func TestProbability(t *testing.T) {
	for _, c := range []struct {
		rule  string
		share float64
	}{
		{`{"status":500}`, 1},
		{`{"status":500,"probability":1}`, 1},
		{`{"status":500,"probability":0}`, 0},
		{`{"status":500,"probability":0.05}`, 0.05},
		{`{"status":500,"probability":0.3}`, 0.3},
		{`{"probability":1}`, 0}, // nothing to refuse with
	} {
		refused, _ := throws(t, 42, c.rule)
		off := float64(refused)/draws - c.share
		certain := c.share == 0 || c.share == 1
		if off > 0.03 || off < -0.03 || certain && off != 0 {
			t.Errorf("%s: refused %d of %d", c.rule, refused, draws)
		}
	}
}

// The jitter comes on top of the delay, has the mean that was asked for, and is spread as an exponential: the share of
// requests above the mean is 1/e.
func TestJitterIsExponential(t *testing.T) {
	_, held := throws(t, 42, `{"delay_ms":100,"jitter_ms":40}`)
	var sum time.Duration
	above := 0
	for _, d := range held {
		if d < 100*time.Millisecond {
			t.Fatalf("held for only %v", d)
		}
		if d > 140*time.Millisecond {
			above++
		}
		sum += d
	}
	if mean := sum / draws; mean < 137*time.Millisecond || mean > 143*time.Millisecond {
		t.Errorf("mean %v, want about 140ms", mean)
	}
	if share := float64(above) / draws; share < 0.34 || share > 0.40 {
		t.Errorf("%v are above the mean, want about 0.37", share)
	}
}

// The same seed gives the same delays and refusals, another seed gives others.
func TestSeedRepeatsARun(t *testing.T) {
	rule := `{"jitter_ms":40,"status":500,"probability":0.5}`
	run := func(seed uint64) string {
		refused, held := throws(t, seed, rule)
		return fmt.Sprint(refused, held)
	}
	if run(7) != run(7) {
		t.Error("two runs with seed 7 differ")
	}
	if run(7) == run(8) {
		t.Error("seeds 7 and 8 give the same run")
	}
}
