# SPDX-License-Identifier: Apache-2.0
# Reads sources named from the top folder; see rooms.sh.
BEGIN {
	# Bottom first; the same order as in CONTRIBUTING.md.
	n = split("base kernels driver device ops model jobs ocr server cli", order, " ")
	for (i = 1; i <= n; i++)
		rank[order[i]] = i
	# The room whose face a public header is; gpu.h is all of them, so only a program may take it.
	split("error=base histogram=base device=device tensor=ops op=ops model=model batch=jobs job=jobs shared=jobs stats=jobs fleet=jobs ocr=ocr gpu=ocr", faces, " ")
	for (i in faces) {
		split(faces[i], pair, "=")
		face[pair[1]] = pair[2]
	}
}
function wrong(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
function room_of(public) { sub(/^pagesift\//, "", public); sub(/\.h$/, "", public); return face[public] }
FNR == 1 {
	split(FILENAME, part, "/")
	room = part[1] == "src" ? part[2] : room_of(part[2] "/" part[3])
	umbrella = FILENAME == "include/pagesift/gpu.h"
	if (!(room in rank))
		wrong("is in no known room: add it to tests/lint/rooms.sh and to CONTRIBUTING.md")
}
/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
	target = $0
	sub(/^[^<"]*[<"]/, "", target)
	sub(/[>"].*/, "", target)
	if (target ~ /\.\.\//) {
		wrong("\"" target "\": name the room, not a way to it")
		next
	}
	if (target ~ /^pagesift\//)
		to = room_of(target)
	else if ($0 ~ /"/ && target ~ /\//)
		to = substr(target, 1, index(target, "/") - 1)
	else {
		if ($0 ~ /"/ && target != "config.h" && target !~ /\.pb-c\.h$/)
			wrong("\"" target "\": write it as \"" room "/" target "\"")
		next
	}
	if (!(to in rank))
		wrong("\"" target "\" is of no known room")
	else if (rank[to] > rank[room] && !umbrella)
		wrong("room " room " includes \"" target "\" of room " to ", which is above it")
}
END { exit bad }
