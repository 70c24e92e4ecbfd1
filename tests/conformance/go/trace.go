package conformance

import "sync/atomic"

// Kinds of queue, as written to the field "queue" of a trace.
const (
	kindPriority = "priority"
	kindClassic  = "classic"
)

// Names of operations, as written to the field "op".
const (
	opAdd         = "add"
	opAddAfter    = "add_after"
	opGet         = "get"
	opDone        = "done"
	opForget      = "forget"
	opNumRequeues = "num_requeues"
	opSleep       = "sleep"
	opShutDown    = "shut_down"
)

// told is what a getter received when the queue told it that it is shut down. Keys are written as key@priority, so the
// two cannot be mistaken for one another.
const told = "shut_down"

// operation is one step of a sequence and what was seen once the queue had settled after it.
type operation struct {
	Op       string   `json:"op"`
	Keys     []string `json:"keys,omitempty"`
	AfterNS  int64    `json:"after_ns,omitempty"`
	Limited  bool     `json:"rate_limited,omitempty"`
	Priority *int     `json:"priority,omitempty"`
	SleepNS  int64    `json:"sleep_ns,omitempty"`

	// DelaysNS are the answers of the classic queue's rate limiter, one per key of a rate limited add.
	DelaysNS []int64 `json:"delays_ns,omitempty"`
	// Requeues is the answer to num_requeues.
	Requeues *int `json:"requeues,omitempty"`
	// Out is what getters received, in the order in which the queue handed it out.
	Out []string `json:"out,omitempty"`
	Len int      `json:"len"`
}

// trace is one sequence, one line of a trace file.
type trace struct {
	Queue   string             `json:"queue"`
	Profile string             `json:"profile"`
	Seed    int64              `json:"seed"`
	Ops     []operation        `json:"ops"`
	Metrics map[string]float64 `json:"metrics"`

	// name is the queue's name, by which its metrics are found.
	name string
}

var names atomic.Int64

// newName makes a queue name that no other queue of this process has: metrics of one name add up.
func newName() string { return "queue-" + itoa(names.Add(1)) }
