package cli

import (
	"bytes"
	"io"
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

// The parts of a progress bar, and bytes in MiB.
func TestProgress_Bar(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	now := time.Unix(1, 0)
	p := &Progress{to: &b, terminal: true, now: func() time.Time { return now }}
	for _, c := range []struct {
		done, total int64
		want        string
	}{
		{0, 3 << 20, "[" + strings.Repeat(".", 30) + "]   0 %  x: 0 of 3 MiB"},
		{1 << 20, 3 << 20, "[" + strings.Repeat("#", 10) + strings.Repeat(".", 20) + "]  33 %  x: 1 of 3 MiB"},
		{3<<20 - 1, 3 << 20, "[" + strings.Repeat("#", 29) + ".]  99 %  x: 2 of 3 MiB"},
		{4 << 20, 3 << 20, "[" + strings.Repeat("#", 30) + "] 100 %  x: 4 of 3 MiB"}, // a file that has grown
		{5, 0, "x"},
	} {
		b.Reset()
		now = now.Add(BarEvery)
		if p.Bytes("x", c.done, c.total); b.String() != "\r\x1b[K"+c.want {
			t.Errorf("%d of %d: %q, want %q", c.done, c.total, b.String(), c.want)
		}
	}
	b.Reset()
	now = now.Add(BarEvery - 1)
	p.Show(1, 2, "too early")
	if p.Clear(); b.String() != "\r\x1b[K" {
		t.Errorf("%q", b.String())
	}
	if p.Clear(); b.String() != "\r\x1b[K" {
		t.Errorf("the bar is removed twice: %q", b.String())
	}
	counter := Counter{Reader: strings.NewReader("abcde")}
	if text, err := io.ReadAll(&counter); counter.N != 5 || string(text) != "abcde" || err != nil {
		t.Errorf("%d bytes, %v", counter.N, err)
	}
}
