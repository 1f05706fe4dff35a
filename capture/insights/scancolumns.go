package insights

import (
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// columnGetters are the columns of events that filters and breakdowns can use, as JSON text.
var columnGetters = map[string]func(b *binder) getter{
	"event": func(b *binder) getter {
		return b.column(Names, func(r *row) string { return wire.Quote(r.b.Name[r.i]) })
	},
	"distinct_id": func(b *binder) getter {
		return b.column(DistinctIDs, func(r *row) string { return wire.Quote(r.b.DistinctID[r.i]) })
	},
	"uuid": func(b *binder) getter {
		return b.column(UUIDs, func(r *row) string { return `"` + r.b.UUID[r.i].String() + `"` })
	},
	"person_id": func(b *binder) getter {
		actor := b.people()
		return func(r *row) string { return `"` + b.personID(actor(r)).String() + `"` }
	},
	"timestamp": func(b *binder) getter {
		return b.column(0, func(r *row) string { return `"` + time.UnixMicro(r.b.Time[r.i]).UTC().Format(time.RFC3339Nano) + `"` })
	},
	"elements_chain": func(b *binder) getter { return b.elementsChain() },
	"$session_id":    func(b *binder) getter { return b.eventProperty("$session_id") },
	"$window_id":     func(b *binder) getter { return b.eventProperty("$window_id") },
	"$group_0":       func(b *binder) getter { return b.groupKey(0) },
	"$group_1":       func(b *binder) getter { return b.groupKey(1) },
	"$group_2":       func(b *binder) getter { return b.groupKey(2) },
	"$group_3":       func(b *binder) getter { return b.groupKey(3) },
	"$group_4":       func(b *binder) getter { return b.groupKey(4) },
}

// column requests a column for the scan and returns g.
func (b *binder) column(c Columns, g getter) getter {
	b.needs.columns |= c
	return g
}

// elementsChain returns the elements chain as JSON text, "" if the event has no chain.
func (b *binder) elementsChain() getter {
	return b.column(Elements, func(r *row) string {
		if chain := r.b.Elements[r.i]; chain != "" {
			return wire.Quote(chain)
		}
		return ""
	})
}

// groupKey returns the key of the event's group of a type as JSON text, "" if there is no such
// group.
func (b *binder) groupKey(groupType int) getter {
	value := b.eventProperty("$group_" + strconv.Itoa(groupType))
	return func(r *row) string {
		if key, _ := textOf(value(r)); key == "" {
			return ""
		}
		return value(r)
	}
}
