"""Read and write feature text: lines such as ``2 qid:17 1:0.5 2:3 # comment``, in parallel and in bounded memory."""
