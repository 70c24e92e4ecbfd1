package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// hold keeps a request for some time. If the client goes away meanwhile, the handler ends, without an answer: an empty
// 200 would be one.
func (p *proxy) hold(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	// On HTTP/1.1 the server notices that a client has gone only once the body has been read.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if p.sleep(r.Context(), d) != nil {
		panic(http.ErrAbortHandler)
	}
}

// sleep waits, and returns an error at once when the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
