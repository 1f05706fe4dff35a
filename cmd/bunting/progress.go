package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// How often progress is shown: as a bar that is drawn over on a terminal, as
// lines elsewhere.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
	barWidth  = 30
)

// progress shows how far something is.
type progress struct {
	to       io.Writer
	terminal bool
	now      func() time.Time
	shown    time.Time // when it was shown last
	drawn    bool      // a bar stands on the terminal's last line
}

func newProgress(to io.Writer) *progress {
	return &progress{to: to, terminal: isTerminal(to), now: time.Now}
}

// show tells that done of total are done, 0 where the total is not known. It may
// be called as often as one likes.
func (p *progress) show(done, total int64, text string) {
	now := p.now()
	every := lineEvery
	if p.terminal {
		every = barEvery
	}
	if p.shown.IsZero() && !p.terminal {
		p.shown = now // what is over soon needs no lines
	}
	if now.Sub(p.shown) < every {
		return
	}
	p.shown = now
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
		p.drawn = true
		_, _ = fmt.Fprintf(p.to, "\r\x1b[K%s", line)
		return
	}
	_, _ = fmt.Fprintln(p.to, line)
}

// say prints a line of its own.
func (p *progress) say(format string, args ...any) {
	p.clear()
	_, _ = fmt.Fprintf(p.to, format+"\n", args...)
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.drawn {
		_, _ = io.WriteString(p.to, "\r\x1b[K")
		p.drawn = false
	}
}
