from .tools.poster_tool import PosterTool  # manifest_invalid/init-reexport
