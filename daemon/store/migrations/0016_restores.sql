-- A question about what a channel brought from before a restore is open until it is answered.
UPDATE questions SET until = 253402214400000000 WHERE subject = 'config' AND state = 'open';
