package segment

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// The cache has the parts that were used last, at most maxParts. A part that could not be read, or that
// was damaged, is requested again.
func TestPartCache(t *testing.T) {
	c := newPartCache()
	loads := 0
	get := func(at int64, err error) error {
		data, got := c.get(partKey{"x", at}, nil, func() ([]byte, error) {
			loads++
			return fmt.Append(nil, at), err
		})
		if got == nil && string(data) != fmt.Sprint(at) {
			t.Errorf("part %d is %q", at, data)
		}
		return got
	}
	failed := errors.New("failed")
	if err := get(0, failed); !errors.Is(err, failed) {
		t.Error(err)
	}
	for range 2 {
		for at := range int64(maxParts) {
			if err := get(at, nil); err != nil {
				t.Error(err)
			}
		}
	}
	if loads != 1+maxParts {
		t.Errorf("%d parts were read, want %d", loads, 1+maxParts)
	}
	_ = get(maxParts, nil) // replaces part 0
	_ = get(1, nil)
	c.forget(partKey{"x", 1})
	_, _ = get(1, nil), get(0, nil)
	if loads != 1+maxParts+3 || c.parts.Len() != maxParts {
		t.Errorf("%d parts were read, %d are kept", loads, c.parts.Len())
	}
}

// Readers that need a part at the same time wait for one request.
func TestPartCache_Together(t *testing.T) {
	c := newPartCache()
	var loads atomic.Int64
	begun, end := make(chan struct{}), make(chan struct{})
	load := func() ([]byte, error) {
		if loads.Add(1) == 1 {
			close(begun)
		}
		<-end
		return []byte("part"), nil
	}
	var readers sync.WaitGroup
	read := func() {
		if data, err := c.get(partKey{"x", 1}, nil, load); string(data) != "part" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
	}
	readers.Go(read)
	<-begun
	for range 4 {
		readers.Go(read)
	}
	close(end)
	readers.Wait()
	if n := loads.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}
