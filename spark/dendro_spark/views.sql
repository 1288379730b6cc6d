-- The tables of a lake as queries use them. Functions and paths are in the tables once for
-- each month of a benchmark, and here once.
CREATE OR REPLACE TEMPORARY VIEW profiles AS SELECT * FROM lake.dendro.profiles;
CREATE OR REPLACE TEMPORARY VIEW samples AS SELECT profile, function, self, total FROM lake.dendro.function_samples;
CREATE OR REPLACE TEMPORARY VIEW functions AS SELECT function, min(name) AS name FROM lake.dendro.functions GROUP BY function;
CREATE OR REPLACE TEMPORARY VIEW paths AS
  SELECT path, min(parent) AS parent, min(function) AS function, min(depth) AS depth FROM lake.dendro.paths GROUP BY path;
