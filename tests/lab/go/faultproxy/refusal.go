package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// reasons are those that Kubernetes gives with a code.
var reasons = map[int]string{
	http.StatusBadRequest:            "BadRequest",
	http.StatusUnauthorized:          "Unauthorized",
	http.StatusForbidden:             "Forbidden",
	http.StatusNotFound:              "NotFound",
	http.StatusMethodNotAllowed:      "MethodNotAllowed",
	http.StatusNotAcceptable:         "NotAcceptable",
	http.StatusConflict:              "Conflict",
	http.StatusGone:                  "Expired",
	http.StatusRequestEntityTooLarge: "RequestEntityTooLarge",
	http.StatusUnsupportedMediaType:  "UnsupportedMediaType",
	http.StatusUnprocessableEntity:   "Invalid",
	http.StatusTooManyRequests:       "TooManyRequests",
	http.StatusInternalServerError:   "InternalError",
	http.StatusServiceUnavailable:    "ServiceUnavailable",
	http.StatusGatewayTimeout:        "Timeout",
}

// status is the part of a Kubernetes Status object that clients look at.
type status struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   struct{} `json:"metadata"`
	Status     string   `json:"status"`
	Message    string   `json:"message"`
	Reason     string   `json:"reason,omitempty"`
	Details    *details `json:"details,omitempty"`
	Code       int      `json:"code"`
}

type details struct {
	RetryAfterSeconds int `json:"retryAfterSeconds"`
}

// reasonFor takes the method into account as client-go does: what is in the way of a create is an existing object.
func reasonFor(code int, method string) string {
	if code == http.StatusConflict && method == http.MethodPost {
		return "AlreadyExists"
	}
	if reason := reasons[code]; reason != "" || code < 500 {
		return reason
	}
	return "InternalError"
}

// refuse answers as an API server that cannot or will not do what was asked.
func refuse(w http.ResponseWriter, r *http.Request, rule *rule) {
	// An unread body costs an HTTP/1.1 client its connection, which is another fault than the one asked for.
	_, _ = io.Copy(io.Discard, r.Body)
	answer := status{
		Kind:       "Status",
		APIVersion: "v1",
		Status:     "Failure",
		Message:    fmt.Sprintf("injected fault: %d %s", rule.Status, http.StatusText(rule.Status)),
		Reason:     reasonFor(rule.Status, r.Method),
		Code:       rule.Status,
	}
	if rule.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(rule.RetryAfterSeconds))
		answer.Details = &details{RetryAfterSeconds: rule.RetryAfterSeconds}
	}
	writeJSON(w, rule.Status, answer)
}
