package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// How often progress is shown: as a bar that is drawn over on a terminal, as
// lines elsewhere.
const (
	BarEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
	barWidth  = 30
)

// Progress shows how far something is.
type Progress struct {
	to       io.Writer
	terminal bool
	now      func() time.Time
	drawnAt  time.Time // when it was shown last
	hasBar   bool      // a bar stands on the terminal's last line
}

// NewProgress shows it on a stream.
func NewProgress(to io.Writer) *Progress {
	return &Progress{to: to, terminal: IsTerminal(to), now: time.Now}
}

// Show tells that done of total are done, 0 where the total is not known. It may
// be called as often as one likes.
func (p *Progress) Show(done, total int64, text string) {
	now := p.now()
	every := lineEvery
	if p.terminal {
		every = BarEvery
	}
	if p.drawnAt.IsZero() && !p.terminal {
		p.drawnAt = now // what is over soon needs no lines
	}
	if now.Sub(p.drawnAt) < every {
		return
	}
	p.drawnAt = now
	line := text
	if total > 0 {
		done = min(done, total)
		line = fmt.Sprintf("%3d %%  %s", done*100/total, text)
		if p.terminal {
			full := int(done * barWidth / total)
			line = "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] " + line
		}
	}
	if p.terminal {
		p.hasBar = true
		_, _ = fmt.Fprintf(p.to, "\r\x1b[K%s", line)
		return
	}
	_, _ = fmt.Fprintln(p.to, line)
}

// Println prints a line of its own.
func (p *Progress) Println(format string, args ...any) {
	p.Clear()
	_, _ = fmt.Fprintf(p.to, format+"\n", args...)
}

// Clear takes the bar away.
func (p *Progress) Clear() {
	if p.hasBar {
		_, _ = io.WriteString(p.to, "\r\x1b[K")
		p.hasBar = false
	}
}

// Bytes shows how far a copy is.
func (p *Progress) Bytes(what string, done, total int64) {
	if total == 0 {
		p.Show(0, 0, what)
		return
	}
	p.Show(done, total, fmt.Sprintf("%s: %d of %d MiB", what, done>>20, total>>20))
}

// Counter counts what is read, for Progress.
type Counter struct {
	io.Reader
	N int64
}

func (c *Counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.N += int64(n)
	return n, err
}
