// Package conformance plays random operation sequences on the two work queues that a Kubernetes operator may have, in
// virtual time, and records what they did.
//
// The queues are the real ones, taken as ordinary module dependencies: controller-runtime's priority queue, and
// client-go's classic queue set up as controller-runtime does when the priority queue is off.
package conformance
