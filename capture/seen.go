package capture

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// maxSeenName is the length, in bytes, above which names are not remembered.
const maxSeenName = 200

const (
	seenSets = 1 << 14
	seenWays = 4
)

// seenSpan is how often a name that keeps coming is written again, so that the
// store knows which names have not come for the longest time.
const seenSpan = 10 * time.Minute

// seenTurn is how many new names of a kind end a span early: a store keeps 10,000 and
// lets those go that have not come for the longest time, so it must hear of a name that
// keeps coming before so many others are new.
const seenTurn = 2500

// seenNames remembers names that have been written in the present span, so that
// they are not written with every event. It has a fixed size and may forget: then a
// name is written once more. All methods may be used at the same time from many
// goroutines.
type seenNames struct {
	seed maphash.Seed
	// hashes are in sets of seenWays: a name may stand in any place of its set.
	hashes [seenSets * seenWays]atomic.Uint64
	// newCounts counts new names by project and kind. Several may share a counter: then
	// spans end earlier.
	newCounts [256]atomic.Uint64
}

func newSeenNames() *seenNames { return &seenNames{seed: maphash.MakeSeed()} }

// newCounter is the counter of a project's new names of a kind.
func (s *seenNames) newCounter(project int64, kind SeenKind) *atomic.Uint64 {
	return &s.newCounts[(uint64(project)*0x9e3779b97f4a7c15>>32+uint64(kind))%uint64(len(s.newCounts))]
}

// moment is the span of a time, and how many times new names have ended one early.
type moment struct{ span, turn uint64 }

func (s *seenNames) moment(now time.Time, project int64, kind SeenKind) moment {
	return moment{uint64(now.Unix() / int64(seenSpan/time.Second)), s.newCounter(project, kind).Load() / seenTurn}
}

// hash is never 0, which marks free places.
func (s *seenNames) hash(m moment, project int64, kind SeenKind, group int, name, typ string) uint64 {
	h := maphash.String(s.seed, name)
	h += m.span*0x9e3779b97f4a7c55 + m.turn*0xd6e8feb86659fd93
	h ^= uint64(project)*0x9e3779b97f4a7c15 + uint64(kind)<<56 + uint64(group)<<48
	if typ != "" {
		h ^= uint64(typ[0]) * 0xc2b2ae3d27d4eb4f // the types begin with different letters
	}
	h *= 0xff51afd7ed558ccd
	return h ^ h>>32 | 1
}

func (s *seenNames) set(hash uint64) []atomic.Uint64 {
	first := hash >> 1 % seenSets * seenWays
	return s.hashes[first : first+seenWays]
}

// isNew reports whether a name that comes now has to be written. typ is one of
// Seen.Type.
func (s *seenNames) isNew(now time.Time, project int64, kind SeenKind, group int, name, typ string) (isNew bool) {
	if name == "" || len(name) > maxSeenName {
		return false
	}
	return !s.has(s.hash(s.moment(now, project, kind), project, kind, group, name, typ))
}

func (s *seenNames) has(hash uint64) bool {
	set := s.set(hash)
	for i := range set {
		if set[i].Load() == hash {
			return true
		}
	}
	return false
}

// mark remembers a name, once it is durable.
func (s *seenNames) mark(n SeenName) {
	hashAt := func(m moment) uint64 { return s.hash(m, n.ProjectID, n.Kind, n.Group, n.Name, n.Type) }
	now := s.moment(n.At, n.ProjectID, n.Kind)
	hash := hashAt(now)
	if s.has(hash) {
		return
	}
	if !s.has(hashAt(moment{now.span, now.turn - 1})) && !s.has(hashAt(moment{now.span - 1, now.turn})) {
		s.newCounter(n.ProjectID, n.Kind).Add(1)
	}
	set := s.set(hash)
	for i := range set {
		if set[i].CompareAndSwap(0, hash) {
			return
		}
	}
	set[hash>>40%seenWays].Store(hash)
}

// The types of properties, as PostHog names them.
const (
	typeString   = "String"
	typeNumeric  = "Numeric"
	typeBoolean  = "Boolean"
	typeDateTime = "DateTime"
)

// typeOf is the type of a property's value, empty for null, lists and objects.
func typeOf(value string) string {
	switch c := value[0]; {
	case c == '"' && hasDateTimePrefix(value[1:]):
		return typeDateTime
	case c == '"':
		return typeString
	case c == 't' || c == 'f':
		return typeBoolean
	case c == '-' || c >= '0' && c <= '9':
		return typeNumeric
	}
	return ""
}

// hasDateTimePrefix reports whether s begins as 2026-01-02T03:04 does, with a blank
// or T in the middle.
func hasDateTimePrefix(s string) bool {
	const form = "0000-00-00T00:00"
	if len(s) < len(form) {
		return false
	}
	for i := range len(form) {
		switch c := s[i]; form[i] {
		case '0':
			if c < '0' || c > '9' {
				return false
			}
		case 'T':
			if c != 'T' && c != ' ' {
				return false
			}
		default:
			if c != form[i] {
				return false
			}
		}
	}
	return true
}

// seenKey is what a batch has noted.
type seenKey struct {
	kind      SeenKind
	name, typ string
}

// addSeen notes a name with the batch, once.
func (p *preparer) addSeen(out *Batch, kind SeenKind, name, typ string) {
	if !p.seen.isNew(p.now, p.project.ID, kind, 0, name, typ) {
		return
	}
	key := seenKey{kind, name, typ}
	if p.reported[key] {
		return
	}
	mapPut(&p.reported, key, true)
	out.Seen = append(out.Seen, SeenName{ProjectID: p.project.ID, Kind: kind, Name: name, Type: typ, At: p.now})
}

// unlistedSlots are properties that describe people and groups, not the event.
var unlistedSlots = [...]slot{slotSet, slotSetOnce, slotUnset, slotGroups, slotGroupSet}

// addSeenNames notes the names of an event that is kept. It comes last: it drops
// properties that the event has stored by then.
func (p *preparer) addSeenNames(e *Event, out *Batch) {
	if p.seen == nil {
		return
	}
	p.addSeen(out, SeenEvent, e.Name, "")
	for _, s := range unlistedSlots {
		p.props.remove(s)
	}
	for _, m := range p.props.members {
		if m.Value != "" {
			p.addSeen(out, SeenEventProperty, m.Key, typeOf(m.Value))
		}
	}
	if e.Kind == untouchingEvent {
		return
	}
	for _, o := range [...]Object{e.SetOnce, e.Set} {
		for _, m := range o {
			p.addSeen(out, SeenPersonProperty, m.Key, typeOf(m.Value))
		}
	}
}
