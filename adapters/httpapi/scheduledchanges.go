package httpapi

import "github.com/bunting-flags/bunting/management"

// scheduledChangeEndpoints are those of changes of flags at a later time
// (§5.1.3).
var scheduledChangeEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/scheduled_changes", scope: "feature_flag:read", summary: "List scheduled changes of flags",
		gives: management.List[management.ScheduledChange]{},
		do: func(c *call) (any, error) {
			var model *string
			management.SetNull(c.listed, "model_name", &model)
			return c.service.ScheduledChanges.List(c.ctx, c.standing, model, c.listed.Text("record_id"), c.page())
		},
	},
	{
		method: "POST", area: inProject, path: "/scheduled_changes", scope: "feature_flag:write", summary: "Schedule a change of a flag",
		takes: management.ScheduledChangeFields, status: 201, gives: management.ScheduledChange{},
		do: func(c *call) (any, error) { return c.service.ScheduledChanges.Create(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", area: inProject, path: "/scheduled_changes/{id}", scope: "feature_flag:read", summary: "Read a scheduled change",
		gives: management.ScheduledChange{},
		do:    func(c *call) (any, error) { return c.service.ScheduledChanges.Get(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inProject, path: "/scheduled_changes/{id}", scope: "feature_flag:write", summary: "Change a scheduled change",
		takes: management.ScheduledChangeFields, gives: management.ScheduledChange{}, do: updateScheduledChange,
	},
	{
		method: "PUT", area: inProject, path: "/scheduled_changes/{id}", scope: "feature_flag:write", summary: "Replace a scheduled change",
		takes: management.ScheduledChangeFields, gives: management.ScheduledChange{}, do: updateScheduledChange,
	},
	{
		method: "DELETE", area: inProject, path: "/scheduled_changes/{id}", scope: "feature_flag:write", summary: "Cancel a scheduled change",
		status: 204,
		do: func(c *call) (any, error) {
			return nil, c.service.ScheduledChanges.Delete(c.ctx, c.standing, c.part("id"))
		},
	},
}

func updateScheduledChange(c *call) (any, error) {
	return c.service.ScheduledChanges.Update(c.ctx, c.standing, c.part("id"), c.body, c.r.Method == "PUT")
}
