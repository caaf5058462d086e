module forebay/functions/upf/smf

go 1.22

require github.com/wmnsk/go-pfcp v0.0.24
