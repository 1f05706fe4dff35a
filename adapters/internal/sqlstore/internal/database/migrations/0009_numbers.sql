-- +goose Up

-- Insights and experiments have numbers instead of UUIDs. The number of each former UUID
-- is stored: id is the UUID, sort the number.
INSERT INTO records (kind, parent, id, other, sort, name, hidden, data)
SELECT 'former_' || kind, parent, id, NULL, CAST(ROW_NUMBER() OVER (PARTITION BY kind ORDER BY sort, id) AS TEXT), NULL, 0, '{}'
FROM records WHERE kind IN ('insight', 'experiment');

INSERT INTO record_counts (kind, place, parent, hidden, n)
SELECT kind, 0, parent, 0, COUNT(*) FROM records WHERE kind IN ('former_insight', 'former_experiment') GROUP BY kind, parent;

INSERT INTO sequences (name, n)
SELECT kind, COUNT(*) FROM records WHERE kind IN ('insight', 'experiment') GROUP BY kind;

UPDATE records AS r SET id = f.sort, data = REPLACE(r.data, '"id":"' || f.id || '"', '"id":' || f.sort || ',"uuid":"' || f.id || '"')
FROM records AS f
WHERE r.kind IN ('insight', 'experiment') AND f.kind = 'former_' || r.kind AND f.parent = r.parent AND f.id = r.id;

-- Objects that refer to them: tiles, annotations, the log of changes, links of flags, rules.
UPDATE records AS r SET other = 'insight:' || f.sort, data = REPLACE(r.data, '"insight":"' || f.id || '"', '"insight":"' || f.sort || '"')
FROM records AS f
WHERE f.kind = 'former_insight' AND r.kind = 'dashboard_tile' AND r.other = 'insight:' || f.id;

UPDATE record_counts AS c SET parent = 'insight:' || f.sort
FROM records AS f
WHERE f.kind = 'former_insight' AND c.kind = 'dashboard_tile' AND c.place = 1 AND c.parent = 'insight:' || f.id;

UPDATE records AS r SET data = REPLACE(r.data, '"insight":"' || f.id || '"', '"insight":"' || f.sort || '"')
FROM records AS f
WHERE f.kind = 'former_insight' AND r.kind = 'annotation' AND r.parent = f.parent AND r.data LIKE '%"insight":"' || f.id || '"%';

UPDATE records AS r SET other = f.parent || CASE f.kind WHEN 'former_insight' THEN '/Insight/' ELSE '/Experiment/' END || f.sort,
  data = REPLACE(r.data, '"item_id":"' || f.id || '"', '"item_id":"' || f.sort || '"')
FROM records AS f
WHERE f.kind IN ('former_insight', 'former_experiment') AND r.kind = 'activity'
  AND r.other = f.parent || CASE f.kind WHEN 'former_insight' THEN '/Insight/' ELSE '/Experiment/' END || f.id;

UPDATE record_counts AS c SET parent = f.parent || CASE f.kind WHEN 'former_insight' THEN '/Insight/' ELSE '/Experiment/' END || f.sort
FROM records AS f
WHERE f.kind IN ('former_insight', 'former_experiment') AND c.kind = 'activity' AND c.place = 1
  AND c.parent = f.parent || CASE f.kind WHEN 'former_insight' THEN '/Insight/' ELSE '/Experiment/' END || f.id;

UPDATE flag_records AS r SET meta = REPLACE(r.meta, '"id":"' || f.id || '"', '"id":' || f.sort)
FROM records AS f
WHERE f.kind = 'former_experiment' AND f.parent = 'project:' || r.project_id AND r.meta LIKE '%"id":"' || f.id || '"%';

UPDATE records AS r SET id = REPLACE(r.id, f.id, f.sort), sort = REPLACE(r.sort, f.id, f.sort),
  data = REPLACE(r.data, '"resource_id":"' || f.id || '"', '"resource_id":"' || f.sort || '"')
FROM records AS f
WHERE f.kind IN ('former_insight', 'former_experiment') AND r.kind = 'access_rule' AND r.parent = f.parent
  AND r.id LIKE '1/' || SUBSTR(f.kind, 8) || '/' || f.id || '/%';
