package trials

import (
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// day is a day of an experiment on the local calendar.
type day struct {
	name string
	// from and end are its bounds in microseconds since 1970.
	from, end int64
	// isComplete is true if the day is over. Otherwise end is the end of the experiment, or now.
	isComplete bool
}

// days returns the days of the experiment until now, and whether there are at most a number of them.
func (x Trial) days(r *scan.Run, most int) ([]day, bool) {
	var out []day
	until := x.end(r.Now)
	year, month, first := x.Start.In(r.Zone).Date()
	for i := 0; ; i++ {
		from, end := time.Date(year, month, first+i, 0, 0, 0, 0, r.Zone), time.Date(year, month, first+i+1, 0, 0, 0, 0, r.Zone)
		if from.After(until) {
			return out, true
		}
		if i == most {
			return out, false
		}
		isComplete := !end.Add(-time.Microsecond).After(until)
		if !isComplete {
			end = until
		}
		out = append(out, day{from.Format(time.DateOnly), from.UnixMicro(), end.UnixMicro(), isComplete})
	}
}

// last returns the time of the last event of the day.
func (v day) last() int64 {
	if v.isComplete { // an event at the end belongs to the next day
		return v.end - 1
	}
	return v.end
}

// at sets the time as of which entities and results are determined: the end of a day.
func (v day) at(f *experimentRun, x Trial) {
	f.to, f.now, f.last, f.asOf = v.end, v.end, v.last(), v.last()
	if !x.End.IsZero() {
		f.to = min(f.to, x.End.UnixMicro())
	}
}

// complete returns the days that are over.
func complete(days []day) dayList {
	if n := len(days); n > 0 && !days[n-1].isComplete {
		return days[:n-1]
	}
	return days
}

// dayList are consecutive days.
type dayList []day

// end returns the end of the last day, or 0 without days.
func (l dayList) end() int64 {
	if len(l) == 0 {
		return 0
	}
	return l[len(l)-1].end
}
