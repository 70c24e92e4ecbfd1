package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"
)

// options are the flags, checked.
type options struct {
	listen, admin string
	target        *url.URL
	tokenFile     string
	seed          uint64
}

func parseOptions(args []string) (options, error) {
	var o options
	var target string
	flags := flag.NewFlagSet("faultproxy", flag.ContinueOnError)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:16443", "loopback `address` for the operator (TLS)")
	flags.StringVar(&o.admin, "admin", "127.0.0.1:16444", "loopback `address` for faults and counts (plain HTTP)")
	flags.StringVar(&target, "target", "https://127.0.0.1:6443", "`URL` of the API server, on loopback")
	flags.StringVar(&o.tokenFile, "token-file", "", "`file` with the bearer token for the API server (required)")
	flags.Uint64Var(&o.seed, "seed", 0, "seed of the random numbers; 0 takes one from the clock")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.tokenFile == "" {
		return o, errors.New("-token-file is required")
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	var err error
	o.target, err = parseTarget(target)
	return o, err
}

// parseTarget refuses other machines: the proxy sends a token and does not check who receives it.
func parseTarget(target string) (*url.URL, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("-target: %w", err)
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("-target: %q is not an http or https URL", target)
	}
	if !isLoopback(u.Hostname()) {
		return nil, fmt.Errorf("-target: %q is not on loopback", target)
	}
	return u, nil
}

func readToken(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("-token-file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", fmt.Errorf("-token-file: %s is empty", file)
	}
	return token, nil
}
