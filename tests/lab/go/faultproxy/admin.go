package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
)

// largestFaults bounds the body of PUT /faults.
const largestFaults = 1 << 20

// admin handles what the lab asks of the proxy itself.
func (p *proxy) admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /faults", p.replaceFaults)
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, p.inForce.Load())
	})
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, p.counts.read())
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	return mux
}

// replaceFaults puts a whole document in force, or leaves everything as it is.
func (p *proxy) replaceFaults(w http.ResponseWriter, r *http.Request) {
	f, err := parseFaults(http.MaxBytesReader(w, r.Body, largestFaults))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.inForce.Store(f)
	writeJSON(w, http.StatusOK, f)
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		log.Printf("answer: %v", err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}
