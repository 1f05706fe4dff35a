package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/demodata"
	"github.com/bunting-flags/bunting/flags"
)

// demoRun is one run of the command. It creates the missing records.
type demoRun struct {
	*manager
	now     time.Time
	made    map[*demoKind][]*demoRecord // the existing records
	created int
}

// prepare reads the records of earlier runs. It returns an error if the project has a foreign flag with
// the key of one of the demo's flags.
func (d *demoRun) prepare(ctx context.Context) error {
	for _, k := range demoKinds {
		made, foreign, err := d.demoRecords(ctx, k)
		if err != nil {
			return err
		}
		for _, r := range foreign {
			if k == demoFlagKind && demodata.FlagOf(r.Key) != nil {
				return fmt.Errorf("the project has a flag %s that bunting demo did not make: rename it, or use another project", r.Key)
			}
		}
		d.made[k] = made
	}
	return nil
}

// ensure returns the record with a title. If there is none, it creates the record.
func (d *demoRun) ensure(ctx context.Context, k *demoKind, title string, body map[string]any) (*demoRecord, error) {
	for _, r := range d.made[k] {
		if r.title() == title {
			return r, nil
		}
	}
	r := &demoRecord{kind: k}
	if err := d.send(ctx, http.MethodPost, d.inProject(k.path), body, r); err != nil {
		return nil, fmt.Errorf("the %s %s: %w", k.name, title, err)
	}
	d.created++
	d.made[k] = append(d.made[k], r)
	return r, nil
}

// demoCohort returns the cohort of the flag demo-discount.
func (d *demoRun) demoCohort(ctx context.Context) (*demoRecord, error) {
	const name = "Demo: customers with the plan pro"
	return d.ensure(ctx, demoCohorts, name, map[string]any{"name": name, "description": "The persons with the plan pro. " + demoMark, "filters": json.RawMessage(
		`{"properties":{"type":"OR","values":[{"type":"AND","values":[{"type":"person","key":"plan","operator":"exact","value":["pro"]}]}]}}`)})
}

// demoSurvey returns the survey. It has the type api, so that posthog-js does not display it.
func (d *demoRun) demoSurvey(ctx context.Context) (*demoRecord, error) {
	const name = demodata.SurveyName
	return d.ensure(ctx, demoSurveys, name, map[string]any{
		"name": name, "description": "Two questions after a visit. " + demoMark, "type": "api", "start_date": demodata.Start(d.now).Format(time.RFC3339),
		"questions": json.RawMessage(`[{"id":"` + demodata.RatingQuestion + `","type":"rating","question":"How easy was it to find what you wanted?","display":"number","scale":5,"lowerBoundLabel":"hard","upperBoundLabel":"easy"},
			{"id":"` + demodata.OpenQuestion + `","type":"open","question":"What should we improve?","optional":true}]`),
	})
}

// demoRule returns the rule that assigns the demo's exceptions to the calling user.
func (d *demoRun) demoRule(ctx context.Context) (*demoRecord, error) {
	var user struct {
		ID int64 `json:"id"`
	}
	if err := d.send(ctx, http.MethodGet, "/api/users/@me/", nil, &user); err != nil {
		return nil, err
	}
	return d.ensure(ctx, demoRules, "Demo: "+demoException, map[string]any{
		"filters":  json.RawMessage(`{"type":"AND","values":[{"type":"event","key":"$exception_types","operator":"exact","value":["TypeError"]},{"type":"event","key":"made_up","operator":"exact","value":["true"]}]}`),
		"assignee": map[string]any{"type": "user", "id": user.ID},
	})
}

// demoRollout returns the guarded rollout, at 50 %. It sends no mails.
func (d *demoRun) demoRollout(ctx context.Context, flag *demoRecord) (*demoRecord, error) {
	const name, days = "Demo: recommendations", 86400
	before := d.created
	r, err := d.ensure(ctx, demoRollouts, name, map[string]any{
		"feature_flag": flag.ID, "name": name, "description": "Half of the persons have it. The next step waits for you. " + demoMark, "start": true, "notify": map[string]any{"emails": []string{}},
		"steps": json.RawMessage(fmt.Sprintf(`[{"percent":5,"dwell_seconds":%[1]d},{"percent":25,"dwell_seconds":%[1]d,"approve":true},{"percent":50,"dwell_seconds":%[1]d,"approve":true},{"percent":100,"dwell_seconds":%[1]d,"approve":true}]`, days)),
		"guardrails": json.RawMessage(`[{"name":"Errors","goal":"decrease","metric":{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":"$exception","math":"total"},"conversion_window":1,"conversion_window_unit":"hour"}},
			{"name":"Orders","goal":"increase","tolerance":0.1,"metric":{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":"order placed","math":"total"},"conversion_window":1,"conversion_window_unit":"hour"}}]`),
	})
	if err != nil || d.created == before {
		return r, err
	}
	for range 2 {
		if err := d.send(ctx, http.MethodPost, d.inProject(demoRollouts.path)+r.id()+"/advance/", map[string]any{"reason": "bunting demo"}, nil); err != nil {
			return nil, fmt.Errorf("the guarded rollout %s: %w", name, err)
		}
	}
	return r, nil
}

// demoExperiment returns the experiment, which started at the time of the first event.
func (d *demoRun) demoExperiment(ctx context.Context) (*demoRecord, error) {
	const name = "Demo: the checkout on one page"
	return d.ensure(ctx, demoExperiments, name, map[string]any{
		"name": name, "description": "Do more people order if the checkout is one page? " + demoMark, "feature_flag_key": demodata.CheckoutFlag, "type": "product",
		"start_date": demodata.Start(d.now).Format(time.RFC3339), "exposure_criteria": map[string]any{"filterTestAccounts": false},
		"metrics": json.RawMessage(`[{"kind":"ExperimentMetric","uuid":"5d0c1e0a-8a51-4c6e-9a55-0d1f0e6b7b01","name":"Orders","metric_type":"funnel","goal":"increase","series":[{"kind":"EventsNode","event":"order placed"}]}]`),
		"metrics_secondary": json.RawMessage(`[{"kind":"ExperimentMetric","uuid":"5d0c1e0a-8a51-4c6e-9a55-0d1f0e6b7b02","name":"Revenue per person","metric_type":"mean","goal":"increase","source":{"kind":"EventsNode","event":"order placed","math":"sum","math_property":"amount"}},
			{"kind":"ExperimentMetric","uuid":"5d0c1e0a-8a51-4c6e-9a55-0d1f0e6b7b03","name":"Errors","metric_type":"mean","goal":"decrease","source":{"kind":"EventsNode","event":"$exception","math":"total"}}]`),
	})
}

// createFlags creates the cohort and the flags.
func (d *demoRun) createFlags(ctx context.Context) error {
	cohort, err := d.demoCohort(ctx)
	if err != nil {
		return err
	}
	for _, f := range demodata.Flags {
		_, err := d.ensure(ctx, demoFlagKind, f.Key, map[string]any{
			"key": f.Key, "name": f.About, "tags": []string{demoTag}, "active": true, "_should_create_usage_dashboard": false,
			"filters": json.RawMessage(f.Filters(cohort.id())),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// flagSet returns the demo's flags with their current definitions.
func (d *demoRun) flagSet(ctx context.Context) (*flags.Set, error) {
	list, _, err := d.demoRecords(ctx, demoFlagKind)
	if err != nil {
		return nil, err
	}
	type definition struct {
		ID      json.RawMessage `json:"id"`
		Key     string          `json:"key"`
		Active  bool            `json:"active"`
		Version int64           `json:"version"`
		Filters json.RawMessage `json:"filters"`
	}
	payload := struct {
		Flags   []definition               `json:"flags"`
		Cohorts map[string]json.RawMessage `json:"cohorts"`
	}{Cohorts: map[string]json.RawMessage{}}
	for _, f := range list {
		payload.Flags = append(payload.Flags, definition{f.ID, f.Key, f.Active, f.Version, f.Filters})
	}
	for _, c := range d.made[demoCohorts] {
		var filters struct{ Properties json.RawMessage }
		if err := json.Unmarshal(c.Filters, &filters); err != nil {
			return nil, err
		}
		payload.Cohorts[c.id()] = filters.Properties
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	definitions, err := flags.ParseDefinitions(text)
	if err != nil {
		return nil, err
	}
	return flags.Compile(definitions), nil
}

// issueWait is how long the command waits for the issue, which the server creates in the background.
const issueWait = 5 * time.Second

// findIssue waits for the demo's issue, and opens it again if it was archived. It returns nil if there is none yet.
func (d *demoRun) findIssue(ctx context.Context) (*demoIssue, error) {
	for end := d.client.now().Add(issueWait); ; {
		issue, err := d.issue(ctx)
		switch {
		case err != nil:
			return nil, err
		case issue != nil && issue.Status == "archived":
			return issue, d.setIssue(ctx, issue, "active")
		case issue != nil || d.client.now().After(end):
			return issue, nil
		}
		if err := d.client.pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}
