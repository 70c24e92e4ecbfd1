package conformance

import (
	"bytes"
	"flag"
	"path/filepath"
	"testing"
)

var write = flag.Bool("write", false, "write the trace files instead of comparing with them")

// directory holds the trace files, as seen from here.
const directory = "../../data/conformance"

// file is where the traces of a kind of queue are.
func file(kind string) string { return filepath.Join(directory, kind+"-queue.jsonl.gz") }

// playAll plays every sequence of every profile on a kind of queue.
func playAll(t *testing.T, kind string) []*trace {
	var traces []*trace
	served := map[string]int{}
	seed := int64(1)
	for _, p := range profiles {
		for range p.count(kind) {
			tr, n := play(t, kind, p, seed)
			traces, served[tr.name] = append(traces, tr), n
			seed++
		}
	}
	// Queues that are shut down keep their metrics, so one reading at the end does for all.
	metrics, err := gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range traces {
		tr.Metrics = metrics[tr.name]
		if got := tr.Metrics["queue_duration_seconds_count"]; got != float64(served[tr.name]) {
			t.Errorf("seed %d: %v waiting times were observed for %d keys handed out", tr.Seed, got, served[tr.name])
		}
	}
	return traces
}

// TestTraces plays all sequences and compares the result with the stored traces, or stores it.
func TestTraces(t *testing.T) {
	for _, kind := range []string{kindPriority, kindClassic} {
		t.Run(kind, func(t *testing.T) {
			traces := playAll(t, kind)
			content, err := encode(traces)
			if err != nil {
				t.Fatal(err)
			}
			ops := 0
			for _, tr := range traces {
				ops += len(tr.Ops)
			}
			t.Logf("%d sequences, %d operations, %d bytes", len(traces), ops, len(content))
			if *write {
				if err := writeGzip(file(kind), content); err != nil {
					t.Fatal(err)
				}
				return
			}
			stored, err := readGzip(file(kind))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(stored, content) {
				t.Errorf("%s does not hold what the queue does; run again with -args -write", file(kind))
			}
		})
	}
}
