# SPDX-License-Identifier: Apache-2.0
# Checks Prometheus's text format 0.0.4: each metric has HELP and TYPE once, before its samples, which
# stand together; no sample comes twice; numbers are numbers; counters end in _total; a histogram's
# buckets rise with le, end with +Inf, which is its count, and it has a sum.
function wrong(text) { printf "line %d: %s: %s\n", NR, text, $0; bad = 1 }
function family_of(name, base) {
	base = name
	sub(/_(bucket|sum|count)$/, "", base)
	return (base in type) && type[base] == "histogram" ? base : name
}
/^# HELP / { if ($3 in help) wrong("HELP twice"); if (NF < 4) wrong("no help"); help[$3] = 1; next }
/^# TYPE / {
	if ($3 in type) wrong("TYPE twice")
	if ($4 !~ /^(counter|gauge|histogram)$/) wrong("no such type")
	if ($4 == "counter" && $3 !~ /_total$/) wrong("a counter ends in _total")
	type[$3] = $4
	next
}
/^#/ || /^$/ { wrong("no comment of ours"); next }
{
	n = match($0, /^[a-zA-Z_:][a-zA-Z0-9_:]*/)
	name = substr($0, 1, RLENGTH)
	rest = substr($0, RLENGTH + 1)
	if (n == 0 || rest !~ /^(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? (-?[0-9.]+(e[-+]?[0-9]+)?|[+-]Inf|NaN)$/) {
		wrong("no sample")
		next
	}
	key = $0
	sub(/ [^ ]*$/, "", key)
	value = substr($0, length(key) + 2)
	if (key in seen) wrong("twice")
	seen[key] = 1
	family = family_of(name)
	if (!(family in help) || !(family in type)) wrong("no HELP or TYPE")
	if (family != last && (family in begun)) wrong("its samples do not stand together")
	begun[family] = 1
	last = family
	if (type[family] == "histogram") {
		series = key
		sub(/,?le="[^"]*"/, "", series)
		sub(/\{\}/, "", series)
		sub(/_(bucket|sum|count)/, "", series)
		if (name ~ /_bucket$/) {
			match(key, /le="[^"]*"/)
			le = substr(key, RSTART + 4, RLENGTH - 5)
			if (value + 0 < most[series] + 0) wrong("a bucket has less than the one before")
			if ((series in bound) && le != "+Inf" && le + 0 <= bound[series] + 0) wrong("le does not rise")
			most[series] = value
			bound[series] = le
		} else if (name ~ /_count$/) {
			if (bound[series] != "+Inf" || most[series] != value) wrong("count is not the last bucket")
			counted[series] = 1
		} else
			summed[series] = 1
	} else if (name != family)
		wrong("no such metric")
}
END {
	for (s in bound)
		if (!(s in counted) || !(s in summed)) { print s ": no count or sum"; bad = 1 }
	if (NR == 0) { print "nothing"; bad = 1 }
	exit bad
}
