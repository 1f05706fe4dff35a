package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := NewProgress(&b)
	if p.terminal {
		t.Fatal("a buffer is no terminal")
	}
	p.now = func() time.Time { return now }
	p.Show(1, 10, "one")
	now = now.Add(lineEvery)
	p.Show(5, 10, "five")
	p.Show(6, 10, "too early")
	now = now.Add(lineEvery)
	p.Show(7, 0, "seven")
	if got, want := b.String(), " 50 %  five\nseven\n"; got != want {
		t.Errorf("lines %q, want %q", got, want)
	}
	b.Reset()
	p.terminal = true
	now = now.Add(BarEvery)
	p.Show(5, 10, "five")
	p.Println("done")
	if got, want := b.String(), "\r\x1b[K["+strings.Repeat("#", 15)+strings.Repeat(".", 15)+"]  50 %  five\r\x1b[Kdone\n"; got != want {
		t.Errorf("bar %q, want %q", got, want)
	}
}
