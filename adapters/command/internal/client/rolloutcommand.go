package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

const rolloutHelp = `Usage: bunting rollout ACTION [OPTIONS]

A guarded rollout raises a flag's percentage in steps, and rolls back automatically
when a guardrail metric gets worse.

  bunting rollout list [--flag KEY]
  bunting rollout create FILE       creates a draft from JSON; - is the standard
                                    input
  bunting rollout status ID         shows its state and its guardrails
  bunting rollout dry-run FILE --from TIME [--until TIME] [--step N]
                                    evaluates a step with stored events, and
                                    changes nothing
  bunting rollout simulate FILE --per-day N --values LIST
                                    shows how likely it is rolled back for
                                    harms of several sizes
  bunting rollout start ID
  bunting rollout pause ID          keeps the percentage; nothing is monitored
  bunting rollout resume ID [--accept-flag]
  bunting rollout advance ID        starts the next step now
  bunting rollout rollback ID [--yes]
  bunting rollout abort ID [--keep] [--yes]

  --flag KEY        only rollouts of this flag
  --reason TEXT     the reason, for the flag's history
  --from TIME       assumed start of the step, such as 2026-01-31T09:00:00Z
  --until TIME      time of the evaluation; now by default
  --step N          number of the step, from 0 (default)
  --per-day N       how many people or groups see the flag per day
  --values LIST     distribution of each guardrail's values, in the guardrails'
                    order: rate:0.02 for shares, mean:10:4 for a mean and its
                    standard deviation, count:0.5 for counts; separated by commas
  --effects LIST    relative harms: 0,0.5,1 (default)
  --runs N          simulated rollouts per harm: 1000 (default)
  --accept-flag     continue with the percentage that the flag was given meanwhile
  --keep            keep the flag's percentage
` + projectOption + yesHelp + managerOptions + `  --json            print JSON
`

var rolloutActions = []action{
	{name: "list", project: readsProject, options: listRollouts},
	{name: "create", project: writesProject, args: []string{"FILE"}, run: createRollout},
	{name: "status", project: readsProject, args: []string{"ID"}, run: func(ctx context.Context, m *manager, args []string) error {
		return m.rollout(ctx, "GET", args[0], "", nil)
	}},
	{name: "dry-run", project: readsProject, args: []string{"FILE"}, options: dryRunRollout},
	{name: "simulate", project: readsProject, args: []string{"FILE"}, options: simulateRollout},
	{name: "start", project: writesProject, args: []string{"ID"}, run: func(ctx context.Context, m *manager, args []string) error {
		return m.rollout(ctx, "POST", args[0], "start/", map[string]any{})
	}},
	{name: "pause", project: writesProject, args: []string{"ID"}, options: rolloutStep("pause/", "", "")},
	{name: "resume", project: writesProject, args: []string{"ID"}, options: func(m *manager) runner {
		accept := m.fs.Bool("accept-flag", false, "")
		return func(ctx context.Context, m *manager, args []string) error {
			return m.rollout(ctx, "POST", args[0], "resume/", map[string]any{"accept_flag": *accept})
		}
	}},
	{name: "advance", project: writesProject, args: []string{"ID"}, options: rolloutStep("advance/", "", "")},
	{name: "rollback", project: writesProject, args: []string{"ID"}, needsConfirmation: true, options: rolloutStep("rollback/", "Roll back the rollout %s?", "")},
	{name: "abort", project: writesProject, args: []string{"ID"}, needsConfirmation: true, options: rolloutStep("abort/", "Abort the rollout %s?", "keep")},
}

// rolloutStep returns an action that changes a rollout's state. If question is not empty, it must
// be confirmed first.
func rolloutStep(path, question, keep string) func(*manager) runner {
	return func(m *manager) runner {
		reason, value := m.fs.String("reason", "", ""), new(bool)
		if keep != "" {
			value = m.fs.Bool(keep, false, "")
		}
		return func(ctx context.Context, m *manager, args []string) error {
			if question != "" {
				if err := m.confirm(ctx, fmt.Sprintf(question, args[0])); err != nil {
					return err
				}
			}
			body := map[string]any{"reason": *reason}
			if *value {
				body["restore"] = false
			}
			return m.rollout(ctx, "POST", args[0], path, body)
		}
	}
}

// rolloutView contains the members that are read of a rollout.
type rolloutView struct {
	ID    int64  `json:"id"`
	Flag  int64  `json:"feature_flag"`
	Name  string `json:"name"`
	Steps []struct {
		Percent float64 `json:"percent"`
	} `json:"steps"`
	Status  string         `json:"status"`
	Step    *int           `json:"step"`
	Next    *string        `json:"next_at"`
	Reasons []string       `json:"reasons"`
	Last    *judgementView `json:"last_evaluation"`
}

// judgementView contains the members that are read of an evaluation.
type judgementView struct {
	Decision string   `json:"decision"`
	Reasons  []string `json:"reasons"`
	Percent  float64  `json:"percent"`
	Matured  struct {
		Treatment int64 `json:"treatment"`
		Control   int64 `json:"control"`
	} `json:"matured"`
	Guardrails []harmView `json:"guardrails"`
	Signals    []harmView `json:"signals"`
}

type harmView struct {
	Name       string   `json:"name"`
	Treatment  *float64 `json:"treatment_mean"`
	Control    *float64 `json:"control_mean"`
	Bound      *float64 `json:"bound"`
	Regression bool     `json:"regression"`
	Error      *string  `json:"error"`
}

func figure(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

// showRollouts prints rollouts, the newest first.
func (m *manager) showRollouts(list ...rolloutView) error {
	rows := [][]string{{"ROLLOUT", "FLAG", "STATUS", "STEP", "SHARE", "NEXT", "REASONS"}}
	for i := range list {
		r, step, share, next := &list[i], "-", "-", "-"
		if r.Step != nil && *r.Step < len(r.Steps) {
			step, share = fmt.Sprintf("%d of %d", *r.Step+1, len(r.Steps)), strconv.FormatFloat(r.Steps[*r.Step].Percent, 'f', -1, 64)+"%"
		}
		if r.Next != nil {
			next = *r.Next
		}
		rows = append(rows, []string{strconv.FormatInt(r.ID, 10), strconv.FormatInt(r.Flag, 10), r.Status, step, share, next, cmp.Or(strings.Join(r.Reasons, ", "), "-")})
	}
	return m.printTable(rows)
}

// showJudgement prints the result of an evaluation.
func (m *manager) showJudgement(e *judgementView) error {
	rows := [][]string{{"METRIC", "TREATMENT", "CONTROL", "WORSE BY AT LEAST", "HARMED"}}
	for _, h := range append(e.Guardrails, e.Signals...) {
		harmed := "no"
		switch {
		case h.Error != nil:
			harmed = *h.Error
		case h.Regression:
			harmed = "yes"
		}
		rows = append(rows, []string{cli.Cell(h.Name), figure(h.Treatment), figure(h.Control), figure(h.Bound), cli.Cell(harmed)})
	}
	why := ""
	if len(e.Reasons) > 0 {
		why = ": " + strings.Join(e.Reasons, ", ")
	}
	if err := m.Print(fmt.Sprintf("%s%s, at %v%% with %d and %d exposures\n", e.Decision, why, e.Percent, e.Matured.Treatment, e.Matured.Control)); err != nil {
		return err
	}
	return m.printTable(rows)
}

func (m *manager) rolloutPath(suffix string) string {
	return m.inProject("/guarded_rollouts/" + suffix)
}

// rollout sends a request about one rollout, and prints the response.
func (m *manager) rollout(ctx context.Context, method, id, suffix string, body any) error {
	return m.oneRollout(ctx, method, pathPart(id)+"/"+suffix, body)
}

func (m *manager) oneRollout(ctx context.Context, method, path string, body any) error {
	var r rolloutView
	if printed, err := m.fetch(ctx, method, m.rolloutPath(path), body, &r); printed || err != nil {
		return err
	}
	if err := m.showRollouts(r); err != nil || r.Last == nil {
		return err
	}
	return m.showJudgement(r.Last)
}

func listRollouts(m *manager) runner {
	flag := m.fs.String("flag", "", "")
	return func(ctx context.Context, m *manager, _ []string) error {
		query := ""
		if *flag != "" {
			f, err := m.findFlagOrID(ctx, *flag)
			if err != nil {
				return err
			}
			query = fmt.Sprintf("?feature_flag=%d", f.ID)
		}
		return printAll(ctx, m, m.rolloutPath(query), m.showRollouts)
	}
}

// maxDefinition is the maximum size of a rollout's definition, in bytes.
const maxDefinition = 1 << 20

// definitionIn reads a rollout's definition, in which the flag may be a key.
func (m *manager) definitionIn(ctx context.Context, file string) (map[string]any, error) {
	in, _, err := m.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was read only
	text, err := io.ReadAll(io.LimitReader(in, maxDefinition))
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if json.Unmarshal(text, &out) != nil || out == nil {
		return nil, fmt.Errorf("%s: must be a JSON object with feature_flag, steps and guardrails", file)
	}
	if key, ok := out["feature_flag"].(string); ok {
		f, err := m.findFlagOrID(ctx, key)
		if err != nil {
			return nil, err
		}
		out["feature_flag"] = f.ID
	}
	return out, nil
}

func createRollout(ctx context.Context, m *manager, args []string) error {
	definition, err := m.definitionIn(ctx, args[0])
	if err != nil {
		return err
	}
	return m.oneRollout(ctx, "POST", "", definition)
}

func dryRunRollout(m *manager) runner {
	from, until, step := m.fs.String("from", "", ""), m.fs.String("until", "", ""), m.fs.Int("step", 0, "")
	return func(ctx context.Context, m *manager, args []string) error {
		if *from == "" {
			return cli.BadUsage("rollout", "dry-run: give the start of the step with --from TIME")
		}
		definition, err := m.definitionIn(ctx, args[0])
		if err != nil {
			return err
		}
		definition["started_at"], definition["step"] = *from, *step
		if *until != "" {
			definition["as_of"] = *until
		}
		var e judgementView
		if printed, err := m.fetch(ctx, "POST", m.rolloutPath("dry_run/"), definition, &e); printed || err != nil {
			return err
		}
		return m.showJudgement(&e)
	}
}
