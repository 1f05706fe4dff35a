-- +goose Up

-- Surveys that are repeated go on to their next iteration, and cohorts by rule are counted
-- again, when a record says that they are due. Those that were stored before there were such
-- records are due at once; what is not to be done for one of them takes its record away.
INSERT INTO records (kind, parent, id, other, sort, name, hidden, data)
SELECT 'survey_turn', '', id, NULL, '00000000000000000000', NULL, 0, '{"project":' || SUBSTR(parent, 9) || ',"survey":"' || id || '"}'
FROM records WHERE kind = 'survey' AND data LIKE '%"iteration_count":%' AND data NOT LIKE '%"iteration_count":null%'
ON CONFLICT (kind, parent, id) DO NOTHING;

INSERT INTO records (kind, parent, id, other, sort, name, hidden, data)
SELECT 'cohort_count_due', '', 'project:' || project_id || '/cohort:' || id, NULL, '00000000000000000000', NULL, 0, '{"project":' || project_id || ',"cohort":' || id || '}'
FROM cohort_records WHERE deleted = 0 AND origin = ''
ON CONFLICT (kind, parent, id) DO NOTHING;

DELETE FROM record_counts WHERE kind IN ('survey_turn', 'cohort_count_due');
INSERT INTO record_counts (kind, place, parent, hidden, n)
SELECT kind, 0, parent, hidden, COUNT(*) FROM records WHERE kind IN ('survey_turn', 'cohort_count_due') GROUP BY kind, parent, hidden;
