package capture

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// maxSeenName is the greatest length of a recorded name, in bytes. Longer names are ignored.
const maxSeenName = 200

// The table of seenNames has seenSets sets of seenWays entries.
const (
	seenSets = 1 << 14
	seenWays = 4
)

// seenSpan is the interval in which a name that is in use is written again, so that the store
// can find the names that have been unused for the longest time.
const seenSpan = 10 * time.Minute

// seenTurn is the number of new names of a kind that end a span early. A store has 10,000
// names and removes those that were unused for the longest time, so a name in use must be
// written again before that many new names arrive.
const seenTurn = 2500

// seenNames is a set of the names that have been written in the current span, so that they
// are not written with every event. It has a fixed size and may lose names, which are then
// written a second time. Its methods are safe for concurrent use.
type seenNames struct {
	seed maphash.Seed
	// hashes has sets of seenWays entries. A name may be in any entry of its set.
	hashes [seenSets * seenWays]atomic.Uint64
	// newCounts counts new names by project and kind. If several share a counter, their spans
	// end earlier.
	newCounts [256]atomic.Uint64
}

func newSeenNames() *seenNames { return &seenNames{seed: maphash.MakeSeed()} }

// newCounter returns the counter of a project's new names of a kind.
func (s *seenNames) newCounter(project int64, kind SeenKind) *atomic.Uint64 {
	return &s.newCounts[(uint64(project)*0x9e3779b97f4a7c15>>32+uint64(kind))%uint64(len(s.newCounts))]
}

// moment identifies a span: the number of the interval, and the number of times that new
// names have ended a span early.
type moment struct{ span, turn uint64 }

// moment returns the current span of a project's names of a kind.
func (s *seenNames) moment(now time.Time, project int64, kind SeenKind) moment {
	return moment{uint64(now.Unix() / int64(seenSpan/time.Second)), s.newCounter(project, kind).Load() / seenTurn}
}

// hash returns the hash of a name in a span. It is never 0, which marks unused entries.
func (s *seenNames) hash(m moment, project int64, kind SeenKind, group int, name, typ string) uint64 {
	h := maphash.String(s.seed, name)
	h += m.span*0x9e3779b97f4a7c55 + m.turn*0xd6e8feb86659fd93
	h ^= uint64(project)*0x9e3779b97f4a7c15 + uint64(kind)<<56 + uint64(group)<<48
	if typ != "" {
		h ^= uint64(typ[0]) * 0xc2b2ae3d27d4eb4f // each type has a different first letter
	}
	h *= 0xff51afd7ed558ccd
	return h ^ h>>32 | 1
}

// set returns the entries in which a hash may be.
func (s *seenNames) set(hash uint64) []atomic.Uint64 {
	first := hash >> 1 % seenSets * seenWays
	return s.hashes[first : first+seenWays]
}

// isNew reports whether a name must be written in a span of the project's names of the kind. typ is
// a value of SeenName.Type.
func (s *seenNames) isNew(m moment, project int64, kind SeenKind, group int, name, typ string) (isNew bool) {
	if name == "" || len(name) > maxSeenName {
		return false
	}
	return !s.has(s.hash(m, project, kind, group, name, typ))
}

// has reports whether a hash is in its set.
func (s *seenNames) has(hash uint64) bool {
	set := s.set(hash)
	for i := range set {
		if set[i].Load() == hash {
			return true
		}
	}
	return false
}

// mark adds a name. It must only be called after the name is durable.
func (s *seenNames) mark(n SeenName) {
	hashAt := func(m moment) uint64 { return s.hash(m, n.ProjectID, n.Kind, n.Group, n.Name, n.Type) }
	now := s.moment(n.At, n.ProjectID, n.Kind)
	hash := hashAt(now)
	if s.has(hash) {
		return
	}
	// A name that was in the previous span is in use already and does not count as new.
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

// These are the types of properties, with the names that PostHog uses.
const (
	typeString   = "String"
	typeNumeric  = "Numeric"
	typeBoolean  = "Boolean"
	typeDateTime = "DateTime"
)

// typeOf returns the type of a property's value. It is empty for null, lists and objects.
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

// hasDateTimePrefix reports whether s begins with a time of the form 2026-01-02T03:04, with a
// space or a T in the middle.
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

// seenKey is a name that has been added to the batch.
type seenKey struct {
	kind      SeenKind
	name, typ string
}

// addSeen adds a name to the batch, unless the batch has it or it was written before in this
// span.
func (p *preparer) addSeen(out *Batch, m moment, kind SeenKind, name, typ string) {
	if !p.seen.isNew(m, p.project.ID, kind, 0, name, typ) {
		return
	}
	key := seenKey{kind, name, typ}
	if p.reported[key] {
		return
	}
	mapPut(&p.reported, key, true)
	out.Seen = append(out.Seen, SeenName{ProjectID: p.project.ID, Kind: kind, Name: name, Type: typ, At: p.now})
}

// unlistedSlots are properties that describe persons and groups, not the event.
var unlistedSlots = [...]slot{slotSet, slotSetOnce, slotUnset, slotGroups, slotGroupSet}

// addSeenNames adds the names that an event uses. It must be called last, because it removes
// properties that have been stored by then.
func (p *preparer) addSeenNames(e *Event, out *Batch) {
	if p.seen == nil {
		return
	}
	m := p.seen.moment(p.now, p.project.ID, SeenEvent)
	p.addSeen(out, m, SeenEvent, e.Name, "")
	for _, s := range unlistedSlots {
		p.props.remove(s)
	}
	m = p.seen.moment(p.now, p.project.ID, SeenEventProperty)
	for i := range p.props.members {
		if v := p.props.members[i].Value; v != "" {
			p.addSeen(out, m, SeenEventProperty, p.props.members[i].Key, typeOf(v))
		}
	}
	if e.Kind == untouchingEvent {
		return
	}
	m = p.seen.moment(p.now, p.project.ID, SeenPersonProperty)
	for _, o := range [...]Object{e.SetOnce, e.Set} {
		for i := range o {
			p.addSeen(out, m, SeenPersonProperty, o[i].Key, typeOf(o[i].Value))
		}
	}
}
