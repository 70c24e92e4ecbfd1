package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
)

// encode writes traces as one JSON object per line.
func encode(traces []*trace) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, t := range traces {
		if err := e.Encode(t); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// writeGzip compresses content into a file. The header holds neither time nor name, so the same content gives the same
// bytes.
func writeGzip(path string, content []byte) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(content); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// readGzip returns the content of a compressed file.
func readGzip(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
