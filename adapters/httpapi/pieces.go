package httpapi

import "github.com/bunting-flags/bunting/capture"

const (
	// pageBytes is after how many bytes a page of events ends, whatever its limit;
	// one event may have a million.
	pageBytes = 8 << 20
	// firstPiece is how many events are read before their size is known.
	firstPiece = 20
)

// pieces says how many things of a page to read at a time, so that few large ones are
// in memory at once.
type pieces struct{ limit, got, size, largest int }

// next is how many to read now, 0 when the page is full.
func (p *pieces) next() int {
	n := firstPiece
	switch {
	case p.got >= p.limit || p.size >= pageBytes:
		return 0
	case p.got > 0:
		n = max((pageBytes-p.size)/max(p.largest, 1), 1)
	}
	return min(n, p.limit-p.got)
}

// add counts a thing of so many bytes.
func (p *pieces) add(bytes int) {
	p.got, p.size, p.largest = p.got+1, p.size+bytes, max(p.largest, bytes)
}

// fill collects at most limit events. more: there are others after them.
func fill(limit int, fetch func(last *capture.Record, n int) ([]capture.Record, error)) (out []capture.Record, more bool, err error) {
	p := pieces{limit: limit}
	for n := p.next(); n > 0; n = p.next() {
		piece, err := fetch(lastOf(out), n)
		if err != nil {
			return nil, false, err
		}
		out = append(out, piece...)
		if len(piece) < n {
			return out, false, nil
		}
		for i := range piece {
			p.add(eventBytes(&piece[i]))
		}
	}
	following, err := fetch(lastOf(out), 1)
	return out, len(following) > 0, err
}

func eventBytes(e *capture.Record) int {
	return len(e.Properties) + len(e.PersonProperties) + len(e.ElementsChain)
}

func lastOf(list []capture.Record) *capture.Record {
	if len(list) == 0 {
		return nil
	}
	return &list[len(list)-1]
}
