package main

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

const (
	projectKey  = "phc_bench"
	personalKey = "phx_bench"
	batchSize   = 100
)

// request is one HTTP request as its bytes, which are prepared before the measurement.
type request struct {
	raw    []byte
	events int
}

// post returns a POST request. encoding is empty for an uncompressed body.
func post(path, encoding string, body []byte, events int) request {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, len(body))
	if encoding != "" {
		fmt.Fprintf(&b, "Content-Encoding: %s\r\n", encoding)
	}
	b.WriteString("\r\n")
	b.Write(body)
	return request{b.Bytes(), events}
}

// get returns a GET request with the personal key.
func get(path string) request {
	return request{raw: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n\r\n", path, personalKey)}
}

// packer builds the bodies of batches.
type packer struct {
	text []byte
	out  bytes.Buffer
	gz   *gzip.Writer
}

// batch returns a request of n events, compressed.
func (p *packer) batch(g *generator, n int, event func(to []byte, i int) []byte) (request, error) {
	p.text = append(p.text[:0], `{"api_key":"`+g.batchKey()+`","historical_migration":false,"batch":[`...)
	for i := range n {
		if i > 0 {
			p.text = append(p.text, ',')
		}
		p.text = event(p.text, i)
	}
	sent := g.clock
	if g.tick != usualTick { // historical events keep their times
		sent = time.Now().UTC()
	}
	p.text = append(p.text, `],"sent_at":"`...)
	p.text = sent.AppendFormat(p.text, "2006-01-02T15:04:05.000Z")
	p.text = append(p.text, `"}`...)
	p.out.Reset()
	if p.gz == nil {
		p.gz, _ = gzip.NewWriterLevel(&p.out, gzip.BestSpeed) // the level is valid
	}
	p.gz.Reset(&p.out)
	if _, err := p.gz.Write(p.text); err != nil {
		return request{}, err
	}
	if err := p.gz.Close(); err != nil {
		return request{}, err
	}
	return post("/batch/", "gzip", p.out.Bytes(), n), nil
}

// single returns a request of one event, uncompressed.
func (p *packer) single(g *generator) request {
	p.text = append(p.text[:0], `{"api_key":"`+projectKey+`",`...)
	p.text = append(p.text, g.event(nil)[1:]...) // the rest of the object
	return post("/i/v0/e/", "", p.text, 1)
}

// persons returns batches that create the known persons, and n further ones with $set whose ids are
// storedID(0) to storedID(n-1).
func persons(n int) ([]request, error) {
	g, p := newGenerator(1, 7), packer{}
	var out []request
	for from := 0; from < existingPersons+n; from += batchSize {
		r, err := p.batch(g, min(batchSize, existingPersons+n-from), func(to []byte, i int) []byte { return g.setPerson(to, from+i) })
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// storedID returns the distinct id of one of the further persons.
func storedID(n int) string { return personID(existingPersons + n) }

// prepare builds n requests on all cores. The clocks of the cores' generators advance together, so
// that requests are in the order of time.
func prepare(n int, options func(*generator), pack func(*packer, *generator) (request, error)) ([]request, error) {
	out := make([]request, n)
	cores := runtime.GOMAXPROCS(0)
	errs := make([]error, cores)
	var wg sync.WaitGroup
	seeds := takeSeeds(cores)
	for core := range cores {
		wg.Go(func() {
			g, p := newGenerator(seeds+uint64(core), 7), packer{}
			options(g)
			for i := core; i < n && errs[core] == nil; i += cores {
				out[i], errs[core] = pack(&p, g)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

var seeds uint64 = 100

// takeSeeds returns the first of n unused seeds.
func takeSeeds(n int) uint64 {
	seeds += uint64(n)
	return seeds - uint64(n)
}

func batches(n int, options func(*generator)) ([]request, error) {
	return prepare(n, options, func(p *packer, g *generator) (request, error) {
		return p.batch(g, batchSize, func(to []byte, _ int) []byte { return g.event(to) })
	})
}

func singles(n int) ([]request, error) {
	return prepare(n, func(*generator) {}, func(p *packer, g *generator) (request, error) { return p.single(g), nil })
}

// flagsRequest returns a request for flags. properties is a JSON object, or empty.
func flagsRequest(key, id, properties string) request {
	body := `{"api_key":"` + key + `","distinct_id":` + strconv.Quote(id)
	if properties != "" {
		body += `,"person_properties":` + properties
	}
	return post("/flags?v=2", "", []byte(body+"}"), 0)
}
