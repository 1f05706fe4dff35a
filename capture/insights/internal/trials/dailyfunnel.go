package trials

import (
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// dailyFunnel is the continuous measurer of an ordered or unordered funnel. Instead of the events of
// an entity it has, by step, the time of the exposure that led there, or for an unordered funnel the
// time at which the step last occurred.
type dailyFunnel struct {
	*metric
	f       *experimentRun
	steps   []*filter.Matcher
	moments moments
	// isMixed is true if an event may be both an exposure and another event of the funnel.
	isMixed bool
	// begins matches the exposures of a mixed funnel, and variant returns their variants. They are nil if
	// fold gets the exposures: those of other funnels, and activations.
	begins  *filter.Matcher
	variant func(*scan.Row) int
	// before and earlier are like in funnelMeasurer.
	before  int64
	earlier []bool
	sorted  actorOrder
	funnelState
}

// funnelState is the state of a funnel. times has an element for the exposure and one for each step,
// by entity.
type funnelState struct {
	times   []int64
	reached []uint8
}

func (w *dailyFunnel) bind(f *experimentRun) []*filter.Matcher {
	w.f = f
	for i := range w.series {
		w.steps = append(w.steps, w.series[i].Bind(f.b))
	}
	if w.isMixed && f.exposure.activation == nil {
		w.begins, w.variant = f.exposure.Bind(f.b), f.bindVariant()
	}
	out := slices.Clone(w.steps)
	if w.begins != nil {
		out = append(out, w.begins)
	}
	if w.order == strictOrder { // any event may reset the funnel
		out = append(out, &filter.Matcher{})
	}
	return out
}

// see records exposures and steps, and for a strict funnel all events. The matchers are the steps, then
// the exposures.
func (w *dailyFunnel) see(r *scan.Row, actor uint32, matchers []int) error {
	at := r.Batch.Time[r.Index]
	if at > w.f.to+w.window {
		return nil
	}
	a := moment{at: at, id: r.Batch.ID[r.Index], actor: actor}
	for _, i := range matchers {
		switch {
		case i < len(w.steps):
			if w.steps[i].MatchesConditions(r) {
				a.what |= 2 << i
			}
		case i == len(w.steps) && w.begins != nil && at <= w.f.to && w.begins.MatchesConditions(r) && w.variant(r) >= 0:
			a.what |= 1
		}
	}
	if a.what == 0 && w.order != strictOrder {
		return nil
	}
	return w.moments.add(a, w.f.Reserve)
}

func (w *dailyFunnel) recorded() *moments { return &w.moments }

func (w *dailyFunnel) admits(*exposedEntity, *moment) bool { return true }

func (w *dailyFunnel) lookback() int64 { return w.before }

func (w *dailyFunnel) seeEarly(r *scan.Row, actor uint32, e *exposedEntity) (err error) {
	if r.Batch.Time[r.Index] < e.first-w.before || !w.steps[len(w.steps)-1].Matches(r) {
		return nil
	}
	if w.earlier, err = scan.Grow(w.earlier, actor, 1, w.f.Reserve); err == nil {
		w.earlier[actor] = true
	}
	return err
}

func (w *dailyFunnel) fold(end int64, exposures []moment) error {
	if w.order == anyOrder || w.begins != nil {
		exposures = nil
	}
	list, err := w.sorted.sort(w.f.Reserve, w.moments.take(end), exposures)
	if err != nil {
		return err
	}
	length := len(w.steps) + 1
	for i := range list {
		a := &list[i]
		if w.reached, err = scan.Grow(w.reached, a.actor, 1, w.f.Reserve); err != nil {
			return err
		}
		first := int(a.actor) * length
		if w.times, err = scan.Grow(w.times, uint32(first+length-1), 8, w.f.Reserve); err != nil {
			return err
		}
		if times := w.times[first : first+length]; w.order == anyOrder {
			w.reached[a.actor] = max(w.reached[a.actor], w.occur(times, a))
		} else {
			w.reached[a.actor] = max(w.reached[a.actor], w.enter(times, a))
		}
	}
	return nil
}

// maxGap returns the window of the funnel in microseconds, see funnelMeasurer.
func (w *dailyFunnel) maxGap() int64 { return (&funnelMeasurer{metric: w.metric}).maxGap() }

// enter continues the paths of an entity by an event, as funnelMeasurer.reachOrdered does, and returns
// the step that it leads to.
func (w *dailyFunnel) enter(times []int64, a *moment) (reached uint8) {
	window := w.maxGap()
	if a.what == 0 { // in a strict funnel an event that is no step resets it
		clear(times)
	}
	for k := len(w.steps); k > 0; k-- {
		if a.what>>k&1 == 0 || times[k-1] == 0 || a.at-times[k-1] > window {
			continue
		}
		times[k] = max(times[k], times[k-1])
		reached = max(reached, uint8(k))
	}
	if a.what&1 != 0 {
		times[0] = a.at
	}
	return reached
}

// occur records the steps that an event matches, and returns how many different steps are in the
// window that ends with it.
func (w *dailyFunnel) occur(times []int64, a *moment) (distinct uint8) {
	window := w.maxGap()
	for k := 1; k <= len(w.steps); k++ {
		if a.what>>k&1 != 0 {
			times[k] = a.at
		}
		if times[k] != 0 && a.at-times[k] <= window {
			distinct++
		}
	}
	return distinct
}

func (w *dailyFunnel) finish(f *experimentRun, out []figures) error {
	for actor := range out {
		m := &out[actor]
		if actor < len(w.reached) {
			m.reached = w.reached[actor]
		}
		m.value = boolToFloat(int(m.reached) == len(w.steps))
		m.before = boolToFloat(actor < len(w.earlier) && w.earlier[actor])
		m.excluded = f.Matured && w.window > 0 && f.entities[actor].first+w.window > f.now
	}
	return nil
}

func (w *dailyFunnel) save(count int) (any, int64) {
	times, bytes := copyFirst(w.times, count*(len(w.steps)+1), 8)
	reached, more := copyFirst(w.reached, count, 1)
	return funnelState{times, reached}, bytes + more
}

func (w *dailyFunnel) load(state any) error {
	s := state.(funnelState)
	w.funnelState = funnelState{slices.Clone(s.times), slices.Clone(s.reached)}
	return nil
}

func (w *dailyFunnel) isIntegral() bool { return true }
