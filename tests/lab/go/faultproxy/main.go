// Faultproxy stands between a Kubernetes operator and an API server on the same machine. It forwards what the operator
// asks, with a delay or a refusal where its rules say so, and answers for the Ray dashboards, which a lab without Pods
// does not have.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run serves until the context ends. Requests that are then under way are cut off: a held one could take an hour.
func run(ctx context.Context, o options) error {
	token, err := readToken(o.tokenFile)
	if err != nil {
		return err
	}
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	clients, err := listenLoopback(o.listen)
	if err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	admins, err := listenLoopback(o.admin)
	if err != nil {
		return fmt.Errorf("-admin: %w", err)
	}
	p := newProxy(newForwarder(o.target, token), newDice(o.seed))
	failed := make(chan error, 2)
	go func() { failed <- newTLSServer(p, certificate).ServeTLS(clients, "", "") }()
	go func() { failed <- (&http.Server{Handler: p.admin(), ReadHeaderTimeout: headerTimeout}).Serve(admins) }()
	log.Printf("clients on https://%s, admin on http://%s, seed %d", clients.Addr(), admins.Addr(), o.seed)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}
