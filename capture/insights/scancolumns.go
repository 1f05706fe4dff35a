package insights

import (
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// columnGetters are the columns of events that filters and breakdowns can use, as JSON text.
var columnGetters = map[string]func(b *binder) getter{
	"event": func(b *binder) getter {
		return b.column(port.Names, func(r *row) string { return wire.Quote(r.Batch.Name[r.Index]) })
	},
	"distinct_id": func(b *binder) getter {
		return b.column(port.DistinctIDs, func(r *row) string { return wire.Quote(r.Batch.DistinctID[r.Index]) })
	},
	"uuid": func(b *binder) getter {
		return b.column(port.UUIDs, func(r *row) string { return `"` + r.Batch.UUID[r.Index].String() + `"` })
	},
	"person_id": func(b *binder) getter {
		actor := b.People()
		return func(r *row) string { return `"` + b.PersonID(actor(r)).String() + `"` }
	},
	"timestamp": func(b *binder) getter {
		return b.column(0, func(r *row) string {
			return `"` + time.UnixMicro(r.Batch.Time[r.Index]).UTC().Format(time.RFC3339Nano) + `"`
		})
	},
	"elements_chain": func(b *binder) getter { return b.ElementsChain() },
	"$session_id":    func(b *binder) getter { return b.EventProperty("$session_id") },
	"$window_id":     func(b *binder) getter { return b.EventProperty("$window_id") },
	"$group_0":       func(b *binder) getter { return b.GroupKey(0) },
	"$group_1":       func(b *binder) getter { return b.GroupKey(1) },
	"$group_2":       func(b *binder) getter { return b.GroupKey(2) },
	"$group_3":       func(b *binder) getter { return b.GroupKey(3) },
	"$group_4":       func(b *binder) getter { return b.GroupKey(4) },
}

// column requests a column for the scan and returns g.
func (b *binder) column(c port.Columns, g getter) getter {
	b.Needs.Columns |= c
	return g
}

// ElementsChain returns the elements chain as JSON text, "" if the event has no chain.
func (b *binder) ElementsChain() getter {
	return b.column(port.Elements, func(r *row) string {
		if chain := r.Batch.Elements[r.Index]; chain != "" {
			return wire.Quote(chain)
		}
		return ""
	})
}

// GroupKey returns the key of the event's group of a type as JSON text, "" if there is no such
// group.
func (b *binder) GroupKey(groupType int) getter {
	value := b.EventProperty("$group_" + strconv.Itoa(groupType))
	return func(r *row) string {
		if key, _ := textOf(value(r)); key == "" {
			return ""
		}
		return value(r)
	}
}
