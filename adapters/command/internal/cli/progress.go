package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Intervals of the display: a bar that is redrawn on a terminal, lines on other outputs.
const (
	BarEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
	barWidth  = 30
)

// Progress displays the progress of a command. It must be used by one goroutine at a time.
type Progress struct {
	to       io.Writer
	terminal bool
	now      func() time.Time
	drawnAt  time.Time // time of the last display
	hasBar   bool      // the terminal's last line is a bar
}

// NewProgress returns a Progress that writes to a stream.
func NewProgress(to io.Writer) *Progress {
	return &Progress{to: to, terminal: IsTerminal(to), now: time.Now}
}

// Show displays that done of total are done; total is 0 if it is unknown. It may be called at any
// rate: calls within the interval have no effect.
func (p *Progress) Show(done, total int64, text string) {
	now := p.now()
	every := lineEvery
	if p.terminal {
		every = BarEvery
	}
	if p.drawnAt.IsZero() && !p.terminal {
		p.drawnAt = now // short work prints no lines
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

// Println removes the bar and prints a line.
func (p *Progress) Println(format string, args ...any) {
	p.Clear()
	_, _ = fmt.Fprintf(p.to, format+"\n", args...)
}

// Clear removes the bar.
func (p *Progress) Clear() {
	if p.hasBar {
		_, _ = io.WriteString(p.to, "\r\x1b[K")
		p.hasBar = false
	}
}

// Bytes displays the progress of a copy; done and total are in bytes.
func (p *Progress) Bytes(what string, done, total int64) {
	if total == 0 {
		p.Show(0, 0, what)
		return
	}
	p.Show(done, total, fmt.Sprintf("%s: %d of %d MiB", what, done>>20, total>>20))
}

// Counter is a reader that counts the bytes that were read, for Progress.
type Counter struct {
	io.Reader
	N int64
}

func (c *Counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.N += int64(n)
	return n, err
}
