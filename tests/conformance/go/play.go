package conformance

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// player plays one sequence on one queue, inside a bubble of virtual time.
type player struct {
	queue   priorityqueue.PriorityQueue[string]
	limiter *recordingLimiter // of the classic queue only
	workers *workers
	choose  *chooser
	trace   *trace
}

// play makes a queue, plays a sequence on it and returns the trace, still without metrics.
func play(t *testing.T, kind string, p profile, seed int64) (tr *trace, served int) {
	tr = &trace{Queue: kind, Profile: p.name, Seed: seed, name: newName()}
	synctest.Test(t, func(t *testing.T) {
		pl := &player{trace: tr, choose: newChooser(kind, p, seed)}
		if kind == kindClassic {
			pl.queue, pl.limiter = newClassic(tr.name, synctest.Wait)
		} else {
			pl.queue = newPriority(tr.name)
		}
		pl.workers = newWorkers(pl.queue)
		if err := pl.run(); err != nil {
			t.Fatalf("%s, seed %d: %v", kind, seed, err)
		}
		// A bubble ends when all that was started in it has ended. The priority queue bears only one shut-down.
		if !pl.queue.ShuttingDown() {
			pl.queue.ShutDown()
		}
		synctest.Wait()
		served = pl.workers.served
	})
	return tr, served
}

// run plays the whole sequence.
func (p *player) run() error {
	prof, r := p.choose.profile, p.choose.rand
	n, downAt := prof.ops.pick(r), -1
	if prof.shutDown {
		downAt = n/2 + r.Intn(n/2)
	}
	for i := range n {
		o := operation{Op: opShutDown}
		if i != downAt {
			o = p.choose.next(p.workers)
		}
		if err := p.step(o); err != nil {
			return err
		}
	}
	if prof.drain {
		return p.drain()
	}
	return nil
}

// drain gives back what is held and gets what is ready, until neither is left.
func (p *player) drain() error {
	for {
		var o operation
		switch {
		case len(p.workers.held) > 0:
			o = p.choose.done(p.workers)
		case p.queue.Len() > 0:
			o = operation{Op: opGet}
		default:
			return nil
		}
		if err := p.step(o); err != nil {
			return err
		}
	}
}

// step plays one operation, lets the queue settle and records what was seen.
func (p *player) step(o operation) error {
	p.do(&o)
	synctest.Wait()
	out, err := p.workers.collect()
	if err != nil {
		return fmt.Errorf("operation %d, %s: %w", len(p.trace.Ops), o.Op, err)
	}
	o.Out, o.Len = out, p.queue.Len()
	if p.limiter != nil {
		o.DelaysNS, p.limiter.delays = p.limiter.delays, nil
	}
	p.trace.Ops = append(p.trace.Ops, o)
	return nil
}

// do plays one operation.
func (p *player) do(o *operation) {
	switch o.Op {
	case opAdd:
		p.queue.AddWithOpts(priorityqueue.AddOpts{
			After: time.Duration(o.AfterNS), RateLimited: o.Limited, Priority: o.Priority,
		}, o.Keys...)
	case opAddAfter:
		p.queue.AddAfter(o.Keys[0], time.Duration(o.AfterNS))
	case opGet:
		p.workers.start()
	case opDone:
		p.queue.Done(o.Keys[0])
	case opForget:
		p.queue.Forget(o.Keys[0])
	case opNumRequeues:
		n := p.queue.NumRequeues(o.Keys[0])
		o.Requeues = &n
	case opSleep:
		time.Sleep(time.Duration(o.SleepNS))
	case opShutDown:
		p.queue.ShutDown()
	default:
		panic("no operation " + o.Op)
	}
}
