-- +goose Up

-- Records of due work: repeated surveys advance to their next iteration, and cohorts by
-- rule are calculated. Objects from before these records are due immediately. A record is
-- deleted if there is no work to do for its object.
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
