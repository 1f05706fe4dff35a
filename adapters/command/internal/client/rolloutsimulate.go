package client

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// simulationView contains the members that are read of a simulation.
type simulationView struct {
	Effects []struct {
		Effect   float64   `json:"effect"`
		Rate     float64   `json:"rollback_rate"`
		Upper    float64   `json:"rollback_rate_upper"`
		Entities *float64  `json:"median_entities"`
		Seconds  *float64  `json:"median_seconds"`
		ByStep   []float64 `json:"by_step"`
	} `json:"effects"`
	Held float64 `json:"srm_false_hold_rate"`
}

// simulateRollout requests a simulation of a rollout for effects of several sizes.
func simulateRollout(m *manager) runner {
	perDay, laws := m.fs.Int("per-day", 0, ""), m.fs.String("values", "", "")
	effects, runs := m.fs.String("effects", "0,0.5,1", ""), m.fs.Int("runs", 1000, "")
	return func(ctx context.Context, m *manager, args []string) error {
		if *perDay <= 0 || *laws == "" {
			return cli.BadUsage("rollout", "simulate: give --per-day N and --values LIST, such as --values rate:0.02")
		}
		metrics, err := parseLaws(*laws)
		if err != nil {
			return err
		}
		var harms []float64
		if json.Unmarshal([]byte("["+*effects+"]"), &harms) != nil {
			return cli.BadUsage("rollout", "simulate: --effects must be numbers separated by commas, such as 0,0.5,1")
		}
		definition, err := m.definitionIn(ctx, args[0])
		if err != nil {
			return err
		}
		body := map[string]any{"definition": definition, "metrics": metrics, "entities_per_day": *perDay, "effects": harms, "runs": *runs}
		var s simulationView
		if printed, err := m.fetch(ctx, "POST", m.rolloutPath("simulate/"), body, &s); printed || err != nil {
			return err
		}
		return m.showSimulated(&s)
	}
}

// lawNumbers maps a distribution to the members that its numbers are written to.
var lawNumbers = map[string][]string{"rate": {"rate"}, "mean": {"mean", "sd"}, "count": {"mean"}}

// parseLaws parses distributions of metrics such as rate:0.02,mean:10:4.
func parseLaws(text string) (out []map[string]any, err error) {
	for law := range strings.SplitSeq(text, ",") {
		parts := strings.Split(strings.TrimSpace(law), ":")
		names, ok := lawNumbers[parts[0]]
		if !ok || len(parts) != len(names)+1 {
			return nil, cli.BadUsage("rollout", "simulate: %q is not rate:SHARE, mean:MEAN:DEVIATION or count:MEAN", law)
		}
		m := map[string]any{"kind": parts[0]}
		for i, name := range names {
			n, err := strconv.ParseFloat(parts[i+1], 64)
			if err != nil || !isFinite(n) {
				return nil, cli.BadUsage("rollout", "simulate: %q is not a number", parts[i+1])
			}
			m[name] = n
		}
		out = append(out, m)
	}
	return out, nil
}

// isFinite reports whether JSON has the number: strconv parses NaN and Inf, too.
func isFinite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 2, 64) + "%" }

func (m *manager) showSimulated(s *simulationView) error {
	rows := [][]string{{"HARM", "ROLLED BACK", "AT MOST", "AFTER", "HOURS", "BY STEP"}}
	for i := range s.Effects {
		e := &s.Effects[i]
		hours := "-"
		if e.Seconds != nil {
			hours = strconv.FormatFloat(*e.Seconds/3600, 'f', 1, 64)
		}
		steps := make([]string, len(e.ByStep))
		for i, share := range e.ByStep {
			steps[i] = percent(share)
		}
		rows = append(rows, []string{"+" + percent(e.Effect), percent(e.Rate), percent(e.Upper), figure(e.Entities), hours, strings.Join(steps, " ")})
	}
	if err := m.printTable(rows); err != nil {
		return err
	}
	return m.Print(fmt.Sprintf("held without cause: %s\n", percent(s.Held)))
}
